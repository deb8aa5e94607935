import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { openChannels } from "#runtime/channels/index.ts";
import type { VoiceMessage } from "#runtime/channels/provider/call.ts";
import { CREDENTIALS } from "../../../support/servers/carrier.ts";

const NOW = Date.UTC(2026, 10, 24, 12);
const RING = 20;
/** Carriers let a phone ring a little longer than they are told. */
const BUFFER = 5;

/** Each vendor with the shortest limit that it keeps, its longest ring, and the limit in its request, in seconds. */
const VENDORS = {
  twilio: {
    kind: "conversation-relay",
    settings: CREDENTIALS.twilio,
    shortest: 30,
    rings: RING,
    limit: (text: string) => Number(new URLSearchParams(text).get("TimeLimit")),
  },
  telnyx: {
    kind: "conversation-relay",
    settings: CREDENTIALS.telnyx,
    shortest: 30,
    rings: RING,
    limit: (text: string) => JSON.parse(text).TimeLimit,
  },
  vapi: {
    kind: "vapi",
    settings: { api_key: "k", phone_number_id: "p", webhook_secret: "vapi-secret" },
    shortest: 10,
    rings: 60,
    limit: (text: string) => JSON.parse(text).assistant.maxDurationSeconds,
  },
  retell: {
    kind: "retell",
    settings: { api_key: "k", agent_id: "a" },
    shortest: 60,
    rings: RING,
    limit: (text: string) => JSON.parse(text).agent_override.agent.max_call_duration_ms / 1000,
  },
  bland: {
    kind: "bland",
    settings: { api_key: "k", webhook_secret: "bland-secret" },
    shortest: 60,
    rings: 60,
    limit: (text: string) => JSON.parse(text).max_duration * 60,
  },
};
type Vendor = keyof typeof VENDORS;
const NAMES = Object.keys(VENDORS) as Vendor[];

let asked: string[] = [];
const apis = setupServer(
  http.post(/^https:\/\/api\./, async ({ request }) => {
    asked.push(await request.text());
    return HttpResponse.json({ id: "c", call_id: "c", sid: "c", call_sid: "c" });
  }),
);
const channels = openChannels({ allowPrivate: false });
beforeAll(() => apis.listen({ onUnhandledFrame: "error" }));
afterAll(async () => {
  apis.close();
  await channels.close();
});
beforeEach(() => {
  asked = [];
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

async function placed(vendor: Vendor, secondsLeft: number, mostSeconds = 300) {
  const { kind, settings } = VENDORS[vendor];
  const chosen = {
    name: kind,
    settings,
    trusted: false,
    callbackUrl: "https://casino.example/api/callbacks/x/1",
  };
  const message: VoiceMessage = {
    id: "01a20cc0-8049-748b-8b89-99b59eccb127",
    to: "+17025550100",
    from: "+18005550199",
    text: "",
    script: {
      language: "en",
      entity: "Casino LLC",
      number: "800 555 0100",
      ai_disclosure: true,
      turns: [],
      voicemail: null,
    },
    opening: "Hello.",
    prompt: "Rules.",
    voicemail: null,
    seconds: 30,
    ringSeconds: RING,
    mostSeconds,
    latest: new Date(NOW + secondsLeft * 1000).toISOString(),
  };
  const sender = channels.open("voice", chosen, async () => {});
  const [outcome] = await sender.send([message], { signal: new AbortController().signal });
  return outcome!;
}

test.each(NAMES)(
  "a call by %s is placed to the last second at which it can end before the hours do",
  async (vendor) => {
    const { shortest, rings, limit } = VENDORS[vendor];
    const least = shortest + rings + BUFFER;
    expect(await placed(vendor, least)).toMatchObject({ status: "sent" });
    expect(limit(asked[0]!)).toBe(shortest);
    expect(await placed(vendor, least - 1)).toMatchObject({ status: "retry", code: "late" });
    expect(await placed(vendor, -10)).toMatchObject({ status: "retry", code: "late" });
    expect(asked).toHaveLength(1);
    for (const left of [least + 17, least + 100, 10_000]) {
      await placed(vendor, left);
      const most = Math.min(300, left - rings - BUFFER);
      expect(limit(asked.at(-1)!)).toBeLessThanOrEqual(most);
      expect(limit(asked.at(-1)!)).toBeGreaterThan(most - 60);
    }
  },
);

test.each(NAMES)("%s places only calls that it can end within the longest time of a call", async (vendor) => {
  const outcome = await placed(vendor, 10_000, VENDORS[vendor].shortest - 1);
  expect(outcome).toMatchObject({ status: "retry", code: "not_set_up", fatal: true });
  expect(asked).toEqual([]);
});
