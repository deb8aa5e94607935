import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import vapi from "#runtime/channels/voice/vapi.ts";
import { shifted } from "../../support/database.ts";
import { openTransaction } from "../../support/postgres/blocking.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type CallScenario, callScenario } from "./scenario.ts";
import { type Body, type Kind, type Line, OPENING, VENDORS } from "./vendors.ts";

const KINDS = Object.keys(VENDORS) as Kind[];

let service: TestService;
let scenario: CallScenario;
let asked: { authorization: string | null; body: Body }[] = [];
/** The vendors' answers to a question about the call. */
let record: (kind: Kind) => Response = () => HttpResponse.json({}, { status: 404 });
/** The vendors' answers to a request to end a call, and those requests. */
let endAnswer: (kind: Kind) => Response = (kind) => HttpResponse.json(VENDORS[kind].ended);
let ends: string[] = [];
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
  ...KINDS.map((kind) => http.get(VENDORS[kind].record, () => record(kind))),
  ...KINDS.map((kind) =>
    http.post(VENDORS[kind].end, async ({ request }) => {
      ends.push(`${request.url} ${await request.text()}`);
      return endAnswer(kind);
    }),
  ),
);

beforeAll(async () => {
  apis.listen({ onUnhandledFrame: "error" });
  service = await startService({ baseUrl: "https://casino.example" });
});
afterAll(async () => {
  apis.close();
  await service?.stop();
});
beforeEach(() => {
  asked = [];
  ends = [];
  endAnswer = (kind) => HttpResponse.json(VENDORS[kind].ended);
});

const provider = (kind: Kind, more: object = {}) =>
  scenario.call("create_message_provider", {
    channel: "voice",
    kind,
    name: kind,
    from_address: "+18005550199",
    credentials: VENDORS[kind].credentials,
    allows_gaming: true,
    ...more,
  });

/** Sends a campaign to all callers of the property. */
async function calling(fields: object = {}): Promise<string> {
  const campaign = await scenario.voiceCampaign(fields);
  await scenario.send(campaign);
  await service.idle();
  return campaign;
}

/** Sends reports to a provider's address as its vendor does. */
function reporting(kind: Kind, callbackPath: string) {
  const post = async (report: object, headers?: Record<string, string>) => {
    const text = JSON.stringify(report);
    const answer = await fetch(`${service.baseUrl}${callbackPath}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(headers ?? VENDORS[kind].headers(text)) },
      body: text,
    });
    await answer.text();
    return answer.status;
  };
  const told = (sendId: string) => (lines: Line[], reason: string, headers?: Record<string, string>) =>
    post(VENDORS[kind].report(sendId, lines, reason), headers);
  return { post, told };
}

/** A call to a person by a vendor's agent. */
interface Placed {
  scenario: CallScenario;
  playerId: string;
  callId: string;
  sendId: string;
  campaign: string;
  body: Body;
  post: ReturnType<typeof reporting>["post"];
  tell: ReturnType<ReturnType<typeof reporting>["told"]>;
}

/** The calls of one campaign to so many people of a new property. */
async function placed(kind: Kind, count: number): Promise<Placed[]> {
  asked = [];
  scenario = await callScenario(service);
  const own = scenario;
  const { callback_path } = await provider(kind);
  await scenario.callers(count);
  const campaign = await calling();
  const bodies = asked.map(({ body }) => body);
  const { post, told } = reporting(kind, callback_path);
  return (await scenario.calls()).map((call: { id: string; player_id: string; send_id: string }) => ({
    scenario: own,
    playerId: call.player_id,
    callId: call.id,
    sendId: call.send_id,
    campaign,
    body: bodies.find((body) => VENDORS[kind].sendId(body) === call.send_id),
    post,
    tell: told(call.send_id),
  }));
}

/** The calls that wait for a test. One that changes no more than its call takes one. */
const waiting: Partial<Record<Kind, Placed[]>> = {};
const CALLS: Record<Kind, number> = { vapi: 10, retell: 9, bland: 7 };

/** The test's call. */
let callId: string;

async function nextCall(kind: Kind): Promise<Placed> {
  waiting[kind] ??= await placed(kind, CALLS[kind]);
  const next = waiting[kind].shift()!;
  ({ scenario, callId } = next);
  asked = [];
  return next;
}

const callOf = (id: string) => scenario.call("get_voice_call", { id });
const row = () => callOf(callId);

/** The test's call is the only one of the property. */
async function ofOnlyCall(): Promise<void> {
  [{ id: callId }] = await scenario.calls();
}

interface Told {
  name: string;
  /** One after another, each the whole of the call. */
  reports: Line[][];
  reason?: string;
  call: object;
  texts?: string[];
  /** The person has stopped the calls. */
  stops?: true;
  abandons?: true;
  /** It rests on how each vendor tells of a call. */
  isOfVendor?: true;
}

const SPOKEN: Line[] = [
  ["us", OPENING],
  ["us", "You have free play."],
  ["them", "Thank you"],
  ["us", "Goodbye."],
];
const HELLO: Line[] = [
  ["us", OPENING],
  ["them", "Hello?"],
];
const STOPPED = { status: "ended", outcome: "opted_out" };

const TOLD: Told[] = [
  {
    name: "the whole call, twice",
    isOfVendor: true,
    reports: [SPOKEN, SPOKEN],
    call: {
      status: "ended",
      outcome: "completed",
      answered_by: "human",
      seconds: 42,
      cost: 0.12,
      cost_currency: "USD",
      provider_call_id: "vendor-call",
    },
    texts: SPOKEN.map(([, text]) => text),
  },
  {
    name: "a stop in words, with any act of its agent",
    isOfVendor: true,
    reports: [
      [
        ["us", OPENING],
        ["them", "Don't call me again, take me off your list"],
        ["us", "Are you sure?"],
      ],
    ],
    call: STOPPED,
    stops: true,
  },
  {
    name: "a stop in as many lines as the first report",
    reports: [
      HELLO,
      [
        ["us", OPENING],
        ["them", "Hello? Stop calling me"],
      ],
    ],
    call: STOPPED,
    texts: [OPENING, "Hello? Stop calling me"],
    stops: true,
  },
  {
    name: "a stop in fewer lines than the first report",
    reports: [
      [
        ["us", OPENING],
        ["them", "Well, thank you"],
        ["us", "Goodbye."],
      ],
      [
        ["us", OPENING],
        ["them", "Stop"],
      ],
    ],
    call: STOPPED,
    texts: [OPENING, "Well, thank you", "Goodbye.", "Stop"],
    stops: true,
  },
  {
    name: "a person who speaks of a voicemail later in the call",
    reports: [[...HELLO, ["us", "You have free play."], ["them", "Can you leave that on my voicemail?"]]],
    call: { outcome: "completed", answered_by: "human" },
  },
  {
    name: "a machine by its first words in several lines",
    isOfVendor: true,
    reports: [
      [
        ["us", OPENING],
        ["them", "You have reached Ana."],
        ["them", "Please leave a message after the tone."],
        ["us", "You have free play."],
      ],
    ],
    call: { answered_by: "machine" },
  },
  {
    name: "an agent that does not say who calls",
    reports: [
      [
        ["us", "Hi, it's me!"],
        ["them", "Hello?"],
      ],
    ],
    call: { outcome: "abandoned" },
    abandons: true,
  },
  {
    name: "a stop to an agent that did not say who calls",
    reports: [
      [
        ["us", "Hi, it's me!"],
        ["them", "Stop calling me"],
      ],
    ],
    call: { outcome: "opted_out", disclosed_at: null },
    abandons: true,
    stops: true,
  },
  {
    name: "nobody who answers",
    isOfVendor: true,
    reports: [[]],
    reason: "none",
    call: { outcome: "no_answer", answered_by: null },
  },
];

describe.each(KINDS)("%s", (kind) => {
  const told = TOLD.filter(({ isOfVendor }) => isFull || kind === "vapi" || isOfVendor);
  /** A person and a call for each case, one whose stop comes late, and one who is erased. */
  let people: Placed[];
  beforeAll(async () => {
    people = await placed(kind, told.length + 2);
  });
  const reasonsOf = async (playerId: string): Promise<string[]> =>
    (await scenario.call("compliance_check", { propertyId: scenario.id, channel: "voice", playerId }))
      .reasons;

  test("gets the fixed sentences first, and a report without its signature changes nothing", async () => {
    const sends = await scenario.sends(people[0]!.campaign);
    expect(people.map(({ sendId }) => sendId).sort()).toEqual(sends.map(({ id }) => id).sort());
    expect(new Set(sends.map(({ status }) => status))).toEqual(new Set(["sent"]));
    for (const { body } of people) {
      const [opening, prompt] = VENDORS[kind].first(body);
      expect(opening).toBe(OPENING);
      expect(prompt).toContain("which nothing below changes");
    }
    const { callId, tell } = people[0]!;
    expect(await tell(SPOKEN, "spoke", {})).toBe(401);
    expect((await callOf(callId)).status).toBe("queued");
  });

  test.each(told.map((one, index) => ({ ...one, index })))(
    "tells of $name",
    async ({ index, reports, reason = "spoke", call, texts, stops }) => {
      const { playerId, callId, tell } = people[index]!;
      for (const lines of reports) expect(await tell(lines, reason)).toBe(200);
      const found = await callOf(callId);
      expect(found).toMatchObject(call);
      if (texts) expect(found.transcript.map(({ text }: { text: string }) => text)).toEqual(texts);
      const bars = (await reasonsOf(playerId)).filter((one) => one !== "frequency_capped");
      expect(bars).toEqual(stops ? ["no_consent", "suppressed"] : []);
    },
  );

  test("tells of a stop in a second report alone, which revokes once", async () => {
    const { playerId, callId, tell } = people[told.length]!;
    const revocations = () =>
      scenario.query(
        (sql) => sql`
          select id from consent_records
          where property_id = ${scenario.id} and player_id = ${playerId} and action = 'revoked'`,
      );
    const begun: Line[] = [
      ["us", OPENING],
      ["them", "Good evening"],
    ];
    await tell(begun, "spoke");
    expect(await callOf(callId)).toMatchObject({ outcome: "completed" });
    expect(await revocations()).toEqual([]);
    const whole: Line[] = [...begun, ["them", "Stop calling me"]];
    await tell(whole, "spoke");
    const call = await callOf(callId);
    expect(call).toMatchObject(STOPPED);
    expect(call.transcript).toHaveLength(3);
    expect(await reasonsOf(playerId)).toEqual(["no_consent", "suppressed"]);
    const before = await revocations();
    expect(before.length).toBeGreaterThan(0);
    await tell([...whole, ["us", "Goodbye."]], "spoke");
    expect((await callOf(callId)).transcript).toHaveLength(4);
    expect(await revocations()).toEqual(before);
  });

  test("is counted by what it told", async () => {
    const { campaign } = people[0]!;
    const { unsubscribed, calls } = await scenario.stats(campaign);
    const abandoned = told.filter(({ abandons }) => abandons).length;
    // One more has stopped the calls late, and one has told nothing yet.
    const stopped = told.filter(({ stops }) => stops).length + 1;
    expect(unsubscribed).toBe(stopped);
    expect(calls).toMatchObject({
      placed: told.length + 2,
      open: 1,
      no_answer: 1,
      opted_out: stopped,
      abandoned,
      abandoned_share: { abandoned },
      cost_currency: "USD",
    });
    expect(calls.answered + calls.voicemail).toBe(told.length);
    expect(calls.cost).toBeCloseTo((told.length + 1) * 0.12);
    const sends = await scenario.sends(campaign);
    const failed = sends.filter(({ status }) => status === "failed").map(({ error_code }) => error_code);
    expect(failed).toEqual(abandoned > 0 ? ["abandoned", "no_answer"] : ["no_answer"]);
  });

  test("tells of the words of an erased person, which are not kept", async () => {
    const { playerId, callId, tell } = people[told.length + 1]!;
    await scenario.call("data_deletion", { propertyId: scenario.id, playerId, reason: "asked" });
    await service.idle();
    const lines: Line[] = [
      ["us", OPENING],
      ["them", "This is Zoe Smith of Elm Street"],
    ];
    expect(await tell(lines, "spoke")).toBe(200);
    expect(await callOf(callId)).toMatchObject({
      status: "ended",
      player_id: null,
      transcript: [],
      provider_call_id: null,
    });
  });
});

test("vapi speaks and hears each language in that language, and like bland records no voice", async () => {
  const { body } = await nextCall("vapi");
  expect(body.assistant.artifactPlan).toEqual({ recordingEnabled: false });
  const transport = vapi.open(vapi.settings.parse(VENDORS.vapi.credentials), { callbackUrl: "" } as never);
  const message = { id: randomUUID(), latest: null, mostSeconds: 300, voicemail: null };
  const spoken: unknown[] = [];
  for (const language of ["en", "es", "fr", "de", "zh"]) {
    asked = [];
    await transport.send([{ ...message, script: { language } } as never], {
      signal: new AbortController().signal,
    } as never);
    const { assistant } = asked[0]!.body;
    expect(assistant.transcriber.language).toBe(language);
    spoken.push(assistant.voice);
  }
  expect(spoken).toEqual([
    { provider: "azure", voiceId: "en-US-AriaNeural" },
    { provider: "azure", voiceId: "es-US-PalomaNeural" },
    { provider: "azure", voiceId: "fr-FR-DeniseNeural" },
    { provider: "azure", voiceId: "de-DE-KatjaNeural" },
    { provider: "azure", voiceId: "zh-CN-XiaoxiaoNeural" },
  ]);
  const bland = await nextCall("bland");
  expect(bland.body.record).toBe(false);
});

test("a stop that a vendor reports bars the number though another writer holds the player", async () => {
  const { playerId, tell } = await nextCall("bland");
  const asking = { propertyId: scenario.id, channel: "voice", playerId };
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  const release = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${scenario.id} and id = ${playerId} for update`,
  );
  const lines: Line[] = [
    ["us", OPENING],
    ["them", "Stop calling me"],
  ];
  expect(await tell(lines, "spoke")).toBe(200);
  expect((await scenario.call("compliance_check", asking)).reasons).toEqual(["suppressed"]);
  await release();
  await admin.end();
  await due("receive_notices");
  expect((await scenario.call("compliance_check", asking)).reasons).toEqual(["no_consent", "suppressed"]);
  expect(await row()).toMatchObject({ outcome: "opted_out" });
});

test("a stop that is reported again before it is in force is answered once it is", async () => {
  const { playerId, tell } = await nextCall("vapi");
  const asking = { propertyId: scenario.id, channel: "voice", playerId };
  const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  const freePlayer = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${scenario.id} and id = ${playerId} for update`,
  );
  const freeList = await openTransaction(admin, (sql) => sql`lock table suppressions in exclusive mode`);
  const lines: Line[] = [
    ["us", OPENING],
    ["them", "Stop calling me"],
  ];
  expect([await tell(lines, "spoke"), await tell(lines, "spoke")]).toEqual([503, 503]);
  expect((await scenario.call("compliance_check", asking)).allowed).toBe(true);
  await freeList();
  expect(await tell(lines, "spoke")).toBe(200);
  expect((await scenario.call("compliance_check", asking)).reasons).toEqual(["suppressed"]);
  await freePlayer();
  await admin.end();
  await due("receive_notices");
  expect(await row()).toMatchObject({ outcome: "opted_out" });
});

test.each(KINDS)("a report of %s with an impossible length keeps its stop", async (kind) => {
  const { playerId, body } = await nextCall(kind);
  const lines: Line[] = [
    ["us", OPENING],
    ["them", "Stop calling me \u0000\ud800"],
  ];
  const told = JSON.stringify(VENDORS[kind].recorded(VENDORS[kind].sendId(body), lines))
    .replace("41600", "4e15")
    .replace("0.6933", "1e12")
    .replace('"endedAt":"2026', '"endedAt":"9026');
  record = () => HttpResponse.json(JSON.parse(told));
  await later(1);
  expect(await row()).toMatchObject({ status: "ended", outcome: "opted_out" });
  const asking = { propertyId: scenario.id, channel: "voice", playerId };
  expect((await scenario.call("compliance_check", asking)).allowed).toBe(false);
});

/** Ways to bar a player, one for each vendor. */
const BARS: Record<Kind, (playerId: string) => Promise<unknown>> = {
  vapi: async (id) => {
    const { phone } = await scenario.call("get_player", { id });
    return scenario.call("create_dnc_entry", { phone });
  },
  retell: (player_id) => scenario.call("create_self_exclusion", { player_id }),
  bland: (playerId) =>
    scenario.call("consent_revoke", {
      propertyId: scenario.id,
      playerId,
      channel: "voice",
      method: "written",
    }),
};

/** Looks at the live calls, as the worker does every two seconds. */
const look = () => due("watch_calls");

/** Runs the waiting jobs of this name. */
async function due(name: string): Promise<void> {
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id} and name = ${name}`,
  );
  service.internals.wake();
  await service.idle();
}

/** Puts the end of a refused request's rest so far from now. Answers whether it was behind `at`. */
async function restUntil(
  away: string,
  at = "-infinity",
): Promise<{ stop_refusals: number; rests: boolean } | undefined> {
  const [rest] = await scenario.query(
    (sql) => sql<{ stop_refusals: number; rests: boolean }[]>`
      with resting as materialized (
        select id, stop_again_at > ${at}::timestamptz as rests, now() + ${away}::interval as until from voice_calls
        where property_id = ${scenario.id} and id = ${callId}
      )
      update voice_calls c set stop_again_at = r.until from resting r
      where c.property_id = ${scenario.id} and c.id = r.id returning c.stop_refusals, r.rests`,
  );
  return rest;
}

test.each(KINDS)("a person who is barred in mid-call hears no more of %s's agent", async (kind) => {
  const { playerId, tell } = await nextCall(kind);
  record = () => HttpResponse.json(VENDORS[kind].running);
  await look();
  expect(ends).toEqual([]);
  await BARS[kind](playerId);
  // The vendor does not take the request at first.
  endAnswer = () => HttpResponse.json({ status: "error" }, { status: 500 });
  await look();
  expect(await row()).toMatchObject({ status: "queued", stopped_at: null });
  // It gets it again after a rest that grows, and no sooner.
  expect(await restUntil("1 hour")).toEqual({ stop_refusals: 1, rests: true });
  const refused = ends.length;
  await look();
  expect(ends).toHaveLength(refused);
  const [{ at }] = await scenario.query(
    (sql) => sql<[{ at: string }]>`select now() + interval '8 seconds' as at`,
  );
  await restUntil("-1 hour");
  await look();
  expect(ends.length).toBeGreaterThan(refused);
  // The service looks by itself too: on a slow machine it may have asked once more.
  const again = await restUntil("-1 hour", at);
  expect(again).toMatchObject({ rests: true });
  expect(again!.stop_refusals).toBeGreaterThanOrEqual(2);
  endAnswer = (which) => HttpResponse.json(VENDORS[which].ended);
  await look();
  expect((await row()).stopped_at).not.toBeNull();
  expect(new Set(ends)).toEqual(new Set([VENDORS[kind].endsBy]));
  const before = ends.length;
  await look();
  expect(ends).toHaveLength(before);
  expect(await tell([["us", OPENING]], "spoke")).toBe(200);
  expect(await row()).toMatchObject({ status: "ended" });
});

test("a person who is barred hears no more of an agent behind more calls than one look reads at once", async () => {
  const [{ playerId }] = (await placed("retell", 1)) as [Placed];
  record = () => HttpResponse.json(VENDORS.retell.running);
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  // The calls before it are of nobody, so that nobody of them can be barred.
  const [send] = await admin`select * from campaign_sends where property_id = ${scenario.id}`;
  const [call] = await admin`select * from voice_calls where property_id = ${scenario.id}`;
  const others = Array.from({ length: 500 }, () => ({ id: randomUUID(), player_id: null }));
  const { is_open: _, ...sent } = send!;
  const sends = others.map((other) => ({
    ...sent,
    ...other,
    provider_message_id: other.id,
    dedupe_key: Buffer.from(other.id),
  }));
  await admin`insert into campaign_sends ${admin(sends)}`;
  const calls = others.map((other) => ({
    ...call,
    ...other,
    send_id: other.id,
    created_at: new Date(call!.created_at - 60_000),
  }));
  await admin`insert into voice_calls ${admin(calls)}`;
  await admin.end();
  await BARS.retell(playerId);
  await look();
  expect(ends).toHaveLength(1);
  const stopped = await scenario.query(
    (sql) =>
      sql`select player_id from voice_calls where property_id = ${scenario.id} and stopped_at is not null`,
  );
  expect(stopped).toEqual([{ player_id: playerId }]);
});

test.each([
  ["at another host than Vapi's", "https://vapi.ai.example/c0ntr0l"],
  ["an address with credentials", "https://a:b@phone.vapi.ai/c0ntr0l"],
])("a call whose control is %s is not ended there, and no log has the address", async (_, controlUrl) => {
  const { playerId } = await nextCall("vapi");
  record = () => HttpResponse.json({ ...VENDORS.vapi.running, monitor: { controlUrl } });
  apis.use(
    http.post(/c0ntr0l$/, ({ request }) => {
      ends.push(request.url);
      return HttpResponse.json({});
    }),
  );
  await BARS.vapi(playerId);
  const warned = vi.spyOn(service.internals.log, "warn");
  await look();
  expect(ends).toEqual([]);
  expect((await row()).stopped_at).toBeNull();
  expect(inspect(warned.mock.calls, { depth: 10 })).not.toContain("c0ntr0l");
  warned.mockRestore();
  apis.resetHandlers();
  record = () => HttpResponse.json(VENDORS.vapi.running);
  await restUntil("-1 hour");
  await look();
  expect((await row()).stopped_at).not.toBeNull();
});

test("a provider that took nothing rests while another one places the calls", async () => {
  scenario = await callScenario(service);
  await provider("vapi", { is_default: true });
  await provider("retell", { is_default: false });
  let silent = 0;
  apis.use(
    http.post("https://api.vapi.ai/call", () => {
      silent += 1;
      return HttpResponse.json({}, { status: 500 });
    }),
  );
  await scenario.caller();
  const first = await calling();
  expect(await scenario.tally(first)).toEqual({ unknown: 1 });
  await scenario.caller();
  const second = await calling();
  apis.resetHandlers();
  expect(await scenario.tally(second)).toEqual({ sent: 1, deferred: 1 });
  expect([silent, asked.length]).toEqual([1, 1]);
});

const CALL: Line[] = [
  ["us", OPENING],
  ["them", "Thank you"],
];

/** Lets this time pass since the test's call was placed, and asks its vendor. */
async function later(hours: number): Promise<void> {
  const ago = `-${hours} hours`;
  await scenario.query(
    (sql) => sql`
      update voice_calls set created_at = ${shifted("created_at", ago)}, updated_at = ${shifted("updated_at", ago)}
      where property_id = ${scenario.id} and id = ${callId}`,
  );
  await due("settle_calls");
}

test.each(KINDS)(
  "a call that %s took and never reported is asked for, and ends as the vendor tells it",
  async (kind) => {
    const { campaign, body, sendId } = await nextCall(kind);
    const before = (await scenario.stats(campaign)).calls;
    record = () => HttpResponse.json(VENDORS[kind].running);
    await later(1);
    expect(await row()).toMatchObject({ status: "queued", outcome: null });
    record = () => HttpResponse.json(VENDORS[kind].recorded(VENDORS[kind].sendId(body), CALL));
    await later(1);
    expect(await row()).toMatchObject({ status: "ended", outcome: "completed", seconds: 42, cost: 0.12 });
    const send = (await scenario.sends(campaign)).find(({ id }) => id === sendId);
    expect(send).toMatchObject({ status: "delivered" });
    expect((await scenario.stats(campaign)).calls).toMatchObject({
      placed: before.placed,
      answered: before.answered + 1,
      open: before.open - 1,
      minutes: before.minutes + 1,
    });
  },
);

test.each(KINDS)(
  "a call that %s does not know is unknown, is never placed again, and a late report is still taken in",
  async (kind) => {
    const { campaign, playerId, tell } = await nextCall(kind);
    const before = (await scenario.stats(campaign)).calls;
    record = () => HttpResponse.json({ message: "not found" }, { status: 404 });
    await later(0.1);
    expect(await row()).toMatchObject({ status: "queued" });
    await later(1);
    expect(await row()).toMatchObject({ status: "unknown", outcome: null, error_code: "no_report" });
    const { calls } = await scenario.stats(campaign);
    const { placed, unknown, open, answered } = before;
    expect(calls).toMatchObject({ placed, unknown: unknown + 1, open: open - 1, answered });
    const again = await calling();
    const [send] = await scenario.query(
      (sql) => sql`
        select status from campaign_sends
        where property_id = ${scenario.id} and campaign_id = ${again} and player_id = ${playerId}`,
    );
    expect(send).toEqual({ status: "deferred" });
    expect(asked).toEqual([]);
    await tell(CALL, "spoke");
    expect(await row()).toMatchObject({ status: "ended", outcome: "completed" });
    expect((await scenario.stats(campaign)).calls).toMatchObject({ placed, unknown, answered: answered + 1 });
  },
);

test("a vendor that cannot be asked for a day leaves the call unknown, with an event", async () => {
  await nextCall("retell");
  await scenario.call("create_webhook_endpoint", {
    url: "https://hooks.example/calls",
    events: ["campaign.call_unknown"],
  });
  record = () => HttpResponse.json({}, { status: 503 });
  await later(1);
  expect(await row()).toMatchObject({ status: "queued" });
  await later(24);
  const call = await row();
  expect(call).toMatchObject({
    status: "unknown",
    error_message: expect.stringContaining("could not be asked"),
  });
  const events = await scenario.query(
    (sql) =>
      sql`select data from outbox where property_id = ${scenario.id} and type = 'campaign.call_unknown'`,
  );
  expect(events.filter(({ data }) => data.object.id === callId)).toHaveLength(1);
});

test.each(KINDS)(
  "an erasure ends a live call by %s's agent, and its vendor's id goes with its end",
  async (kind) => {
    const { playerId, tell } = await nextCall(kind);
    record = () => HttpResponse.json(VENDORS[kind].running);
    await scenario.call("data_deletion", { propertyId: scenario.id, playerId, reason: "asked" });
    await look();
    expect(ends).toContain(VENDORS[kind].endsBy);
    expect(await row()).toMatchObject({
      status: "queued",
      player_id: null,
      provider_call_id: "vendor-call",
      stopped_at: expect.any(String),
    });
    expect(await tell([...HELLO, ["us", "Goodbye."]], "spoke")).toBe(200);
    expect(await row()).toMatchObject({ status: "ended", provider_call_id: null });
  },
);

test("the vendor's id of an erased person's call goes too where the vendor tells no end of it", async () => {
  const { playerId } = await nextCall("retell");
  endAnswer = () => HttpResponse.json({}, { status: 500 });
  await scenario.call("data_deletion", { propertyId: scenario.id, playerId, reason: "asked" });
  expect(await row()).toMatchObject({ provider_call_id: "vendor-call" });
  record = () => HttpResponse.json({ message: "not found" }, { status: 404 });
  await later(1);
  expect(await row()).toMatchObject({ status: "unknown", provider_call_id: null });
});

test("an erased person's call that nobody could tell of is ended when it lives again", async () => {
  const { playerId, body, post } = await nextCall("retell");
  endAnswer = () => HttpResponse.json({}, { status: 500 });
  await scenario.call("data_deletion", { propertyId: scenario.id, playerId, reason: "asked" });
  record = () => HttpResponse.json({ message: "not found" }, { status: 404 });
  await later(1);
  expect(await row()).toMatchObject({ status: "unknown", provider_call_id: null });
  await look();
  await restUntil("-1 hour");
  [ends, endAnswer] = [[], (kind) => HttpResponse.json(VENDORS[kind].ended)];
  const metadata = { send_id: VENDORS.retell.sendId(body) };
  expect(await post({ event: "call_started", call: { call_id: "vendor-call", metadata } })).toBe(200);
  await look();
  expect(ends).toContain(VENDORS.retell.endsBy);
  expect(await row()).toMatchObject({ status: "in_progress", stopped_at: expect.any(String) });
  expect(await post(VENDORS.retell.report(metadata.send_id, HELLO, "spoke"))).toBe(200);
  expect(await row()).toMatchObject({ status: "ended", provider_call_id: null });
});

test("a call that rings again long after its placing is ended for a person who was barred", async () => {
  const { playerId, sendId, post } = await nextCall("vapi");
  record = () => HttpResponse.json({ message: "not found" }, { status: 404 });
  await later(1);
  expect(await row()).toMatchObject({ status: "unknown" });
  record = () => HttpResponse.json(VENDORS.vapi.running);
  const call = { id: "vendor-call", assistant: { metadata: { send_id: sendId } } };
  expect(await post({ message: { type: "status-update", status: "ringing", call } })).toBe(200);
  expect(await row()).toMatchObject({ status: "ringing" });
  await BARS.vapi(playerId);
  ends = [];
  await look();
  expect(ends).toEqual([VENDORS.vapi.endsBy]);
  expect(await row()).toMatchObject({ stopped_at: expect.any(String) });
});

test("a call that its vendor names behind the erasure is ended too, however long the vendor refuses", async () => {
  const [called, named] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  apis.use(
    http.post("https://api.vapi.ai/call", async () => {
      called.resolve();
      await named.promise;
      return HttpResponse.json({ id: "vendor-call", status: "queued" }, { status: 201 });
    }),
  );
  endAnswer = () => HttpResponse.json({}, { status: 500 });
  scenario = await callScenario(service);
  await provider("vapi");
  const playerId = await scenario.caller();
  const campaign = await scenario.voiceCampaign();
  await scenario.send(campaign);
  await called.promise;
  await scenario.call("data_deletion", { propertyId: scenario.id, playerId, reason: "asked" });
  named.resolve();
  await service.idle();
  apis.resetHandlers();
  await ofOnlyCall();
  record = () => HttpResponse.json(VENDORS.vapi.running);
  await due("finish_erasure");
  expect(await scenario.sends(campaign)).toMatchObject([{ player: null, status: "sent" }]);
  endAnswer = () => HttpResponse.json(VENDORS.vapi.ended);
  ends = [];
  await restUntil("-1 hour");
  await look();
  expect(ends).toContain(VENDORS.vapi.endsBy);
  expect(await row()).toMatchObject({ player_id: null, stopped_at: expect.any(String) });
});

test("a pressed key that Retell writes into its transcript stops the calls", async () => {
  const { playerId, body } = await nextCall("retell");
  const whole = VENDORS.retell.recorded(body.metadata.send_id, CALL);
  record = () =>
    HttpResponse.json({
      ...whole,
      transcript_with_tool_calls: [...whole.transcript_object, { role: "dtmf", digit: "9" }],
    });
  await later(1);
  expect(await row()).toMatchObject({ outcome: "opted_out" });
  const asking = { propertyId: scenario.id, channel: "voice", playerId };
  expect((await scenario.call("compliance_check", asking)).allowed).toBe(false);
});

test("a call that its vendor refuses has failed, and is not waited for", async () => {
  apis.use(
    http.post("https://api.vapi.ai/call", () => HttpResponse.json({ message: "no" }, { status: 400 })),
  );
  scenario = await callScenario(service);
  await provider("vapi");
  await scenario.caller();
  const campaign = await calling();
  apis.resetHandlers();
  expect(await scenario.sends(campaign)).toMatchObject([{ status: "failed" }]);
  await ofOnlyCall();
  expect(await row()).toMatchObject({ status: "ended", outcome: "failed", error_message: "no" });
});
