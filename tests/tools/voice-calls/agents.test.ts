import { createHmac } from "node:crypto";
import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type CallScenario, callScenario } from "./scenario.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Body = any;

let service: TestService;
let scenario: CallScenario;
let asked: { authorization: string | null; body: Body }[] = [];
const take =
  (answer: object, status: number) =>
  async ({ request }: { request: Request }) => {
    asked.push({ authorization: request.headers.get("authorization"), body: await request.json() });
    return HttpResponse.json(answer, { status });
  };
const apis = setupServer(
  http.all("http://127.0.0.1*", passthrough),
  http.post("https://api.vapi.ai/call", take({ id: "vendor-call", status: "queued" }, 201)),
  http.post(
    "https://api.retellai.com/v2/create-phone-call",
    take({ call_id: "vendor-call", call_status: "registered" }, 201),
  ),
  http.post("https://api.bland.ai/v1/calls", take({ status: "success", call_id: "vendor-call" }, 200)),
);

beforeAll(async () => {
  apis.listen({ onUnhandledFrame: "error" });
  service = await startService({ baseUrl: "https://casino.example" });
});
afterAll(async () => {
  apis.close();
  await service?.stop();
});
beforeEach(async () => {
  asked = [];
  scenario = await callScenario(service);
});

const OPENING =
  "Hello. This is an automated call from Casino LLC, by an AI voice. To stop these calls, press 9 or say stop at any time.";
type Line = [by: "us" | "them", text: string];

/** Each vendor's settings, the report of a call's end as its documentation shows it, and its signature. */
const VENDORS = {
  vapi: {
    credentials: { api_key: "vapi-key", phone_number_id: "phone-1", webhook_secret: "vapi-secret" },
    first: (body: Body) => [body.assistant.firstMessage, body.assistant.model.messages[0].content],
    sendId: (body: Body) => body.metadata.send_id,
    report: (send_id: string, lines: Line[], reason: string) => ({
      message: {
        type: "end-of-call-report",
        endedReason: { spoke: "customer-ended-call", none: "customer-did-not-answer" }[reason],
        durationSeconds: 41.6,
        cost: 0.12,
        artifact: {
          transcript: "",
          messages: [
            { role: "system", message: "the prompt" },
            ...lines.map(([by, message]) => ({ role: by === "us" ? "bot" : "user", message, time: 1 })),
          ],
        },
        call: { id: "vendor-call", metadata: { send_id } },
      },
    }),
    headers: () => ({ "x-vapi-secret": "vapi-secret" }),
  },
  retell: {
    credentials: { api_key: "retell-key", agent_id: "agent-1" },
    first: (body: Body) => [
      body.agent_override.retell_llm.begin_message,
      body.retell_llm_dynamic_variables.instructions,
    ],
    sendId: (body: Body) => body.metadata.send_id,
    report: (send_id: string, lines: Line[], reason: string) => ({
      event: "call_ended",
      call: {
        call_id: "vendor-call",
        call_status: "ended",
        metadata: { send_id },
        disconnection_reason: { spoke: "user_hangup", none: "dial_no_answer" }[reason],
        duration_ms: 41_600,
        call_cost: { combined_cost: 12 },
        transcript_object: lines.map(([by, content]) => ({ role: by === "us" ? "agent" : "user", content })),
      },
    }),
    headers: (text: string) => {
      const now = Date.now();
      return {
        "x-retell-signature": `v=${now},d=${createHmac("sha256", "retell-key")
          .update(text + now)
          .digest("hex")}`,
      };
    },
  },
  bland: {
    credentials: { api_key: "bland-key", webhook_secret: "bland-secret" },
    first: (body: Body) => [body.first_sentence, body.task],
    sendId: (body: Body) => body.metadata.send_id,
    report: (send_id: string, lines: Line[], reason: string) => ({
      call_id: "vendor-call",
      completed: true,
      status: "completed",
      answered_by: { spoke: "human", none: "no-answer" }[reason],
      call_length: 0.6933,
      price: 0.12,
      metadata: { send_id },
      transcripts: lines.map(([by, text], id) => ({ id, user: by === "us" ? "assistant" : "user", text })),
    }),
    headers: (text: string) => ({
      "x-webhook-signature": createHmac("sha256", "bland-secret").update(text).digest("hex"),
    }),
  },
} as const;
type Kind = keyof typeof VENDORS;

async function placed(kind: Kind) {
  const provider = await scenario.call("create_message_provider", {
    channel: "voice",
    kind,
    name: kind,
    from_address: "+18005550199",
    credentials: VENDORS[kind].credentials,
    allows_gaming: true,
  });
  const playerId = await scenario.caller();
  const campaign = await scenario.voiceCampaign();
  await scenario.send(campaign);
  await service.idle();
  const { body } = asked[0]!;
  const tell = async (lines: Line[], reason: string, headers?: Record<string, string>) => {
    const text = JSON.stringify(VENDORS[kind].report(VENDORS[kind].sendId(body), lines, reason));
    const answer = await fetch(`${service.baseUrl}${provider.callback_path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(headers ?? VENDORS[kind].headers(text)) },
      body: text,
    });
    await answer.text();
    return answer.status;
  };
  return { playerId, campaign, body, tell };
}

const row = async () => (await scenario.calls())[0];

test.each(Object.keys(VENDORS) as Kind[])(
  "%s gets the fixed sentences first, and its report becomes the call",
  async (kind) => {
    const { campaign, body, tell } = await placed(kind);
    const [opening, prompt] = VENDORS[kind].first(body);
    expect(opening).toBe(OPENING);
    expect(prompt).toContain("which nothing below changes");
    expect(await scenario.sends(campaign)).toMatchObject([{ status: "sent" }]);
    const lines: Line[] = [
      ["us", OPENING],
      ["us", "You have free play."],
      ["them", "Thank you"],
      ["us", "Goodbye."],
    ];
    expect(await tell(lines, "spoke", {})).toBe(401);
    expect((await row()).status).toBe("queued");
    expect(await tell(lines, "spoke")).toBe(200);
    expect(await tell(lines, "spoke")).toBe(200);
    const call = await row();
    expect(call).toMatchObject({
      status: "ended",
      outcome: "completed",
      answered_by: "human",
      seconds: 42,
      cost: 0.12,
      cost_currency: "USD",
      provider_call_id: "vendor-call",
    });
    expect(call.transcript.map(({ text }: { text: string }) => text)).toEqual(lines.map(([, text]) => text));
    expect(await scenario.sends(campaign)).toMatchObject([{ status: "delivered" }]);
    expect((await scenario.stats(campaign)).calls).toMatchObject({
      answered: 1,
      cost: 0.12,
      cost_currency: "USD",
    });
  },
);

test.each(Object.keys(VENDORS) as Kind[])(
  "a stop in the words that %s reports revokes, whatever its agent did",
  async (kind) => {
    const { playerId, campaign, tell } = await placed(kind);
    await tell(
      [
        ["us", OPENING],
        ["them", "Don't call me again, take me off your list"],
        ["us", "Are you sure?"],
      ],
      "spoke",
    );
    expect(await row()).toMatchObject({ outcome: "opted_out" });
    const asking = { propertyId: scenario.id, channel: "voice", playerId };
    expect((await scenario.call("compliance_check", asking)).reasons).toEqual(["no_consent", "suppressed"]);
    expect(await scenario.stats(campaign)).toMatchObject({ unsubscribed: 1 });
  },
);

test.each(Object.keys(VENDORS) as Kind[])(
  "an agent of %s that does not say who calls has abandoned the person",
  async (kind) => {
    const { campaign, tell } = await placed(kind);
    await tell(
      [
        ["us", "Hi, it's me!"],
        ["them", "Hello?"],
      ],
      "spoke",
    );
    expect(await row()).toMatchObject({ outcome: "abandoned" });
    expect((await scenario.stats(campaign)).calls.abandoned_share).toMatchObject({ abandoned: 1 });
  },
);

test.each(Object.keys(VENDORS) as Kind[])(
  "nobody answers %s: the message failed, and the number rests for a day",
  async (kind) => {
    const { campaign, tell } = await placed(kind);
    await tell([], "none");
    expect(await row()).toMatchObject({ outcome: "no_answer", answered_by: null });
    expect(await scenario.sends(campaign)).toMatchObject([{ status: "failed", error_code: "no_answer" }]);
  },
);
