import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let mails: Awaited<ReturnType<Scenario["mailbox"]>>;
/** Of the test: a player whom nobody has asked about, and what they have got. */
let player: string;
let email: string;
let phone: string;
let unsubscribe: string;
let preferences: string;

/** At least as many as tests. */
const PLAYERS = 30;

beforeAll(async () => {
  service = await startService();
  scenario = await newScenario(service, { name: "Lucky <Star>" });
  const rows = Array.from({ length: PLAYERS }, (_, n) => ({
    ...{ player_id: `ana-${n}`, email: `ana${n}@example.com`, phone: `+17752025${500 + n}` },
    ...{ "consent.email": "yes", "consent.sms": "yes" },
  }));
  const mapping = { "consent.email": "consent.email", "consent.sms": "consent.sms" };
  const evidence = { channel: [], consentSource: "desk", consentVersion: "1" };
  await scenario.call("create_import_job", { rows, mapping, consent: evidence });
  await service.idle();
  await scenario.send(await scenario.campaign());
  await service.idle();
  mails = await scenario.mailbox();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  const message = mails.pop();
  email = message!.recipient;
  const [row] = await scenario.query(
    (sql) => sql<{ id: string; phone: string }[]>`
      select id, phone from players where property_id = ${scenario.id} and email = ${email}`,
  );
  ({ id: player, phone } = row!);
  unsubscribe = new URL(/<(.+)>/.exec(message!.headers["List-Unsubscribe"]!)![1]!).pathname;
  preferences = new URL(/Preferences \((\S+)\)/.exec(message!.text)![1]!).pathname;
});

const consent = (playerId: string, channel: string, occurredAt = new Date().toISOString()) =>
  scenario.call("consent_record", {
    propertyId: scenario.id,
    playerId,
    channel,
    consentGiven: true,
    consentSource: "desk",
    consentVersion: "1",
    occurredAt,
  });

async function visit(path: string, body?: RequestInit["body"]) {
  const response = await fetch(`${service.baseUrl}${path}`, {
    redirect: "manual",
    ...(body !== undefined && { method: "POST", body: body as string }),
  });
  return { status: response.status, headers: response.headers, html: await response.text() };
}

const save = (fields: [string, string][]) => visit(preferences, new URLSearchParams(fields));

/** The channels that a page shows as on, as off, and as off for good. */
function shown(html: string) {
  const states: Record<string, string> = {};
  for (const [, attributes] of html.matchAll(/<input type="checkbox"([^>]*)>/g)) {
    const channel = /value="(\w+)"/.exec(attributes!)![1]!;
    states[channel] = / checked/.test(attributes!) ? "on" : / disabled/.test(attributes!) ? "fixed" : "off";
  }
  return states;
}

const ledger = () =>
  scenario.query(
    (sql) => sql`
    select channel, action, collection_method, consent_version, consent_text, actor_type, ip_address
    from consent_records
    where property_id = ${scenario.id} and player_id = ${player} and collection_method not in ('cli', 'import')
    order by recorded_at, id`,
  );

const sendOf = async (playerId: string) => {
  const [send] = await scenario.query(
    (sql) => sql<{ id: string }[]>`
      select id from campaign_sends where property_id = ${scenario.id} and player_id = ${playerId}`,
  );
  return send!.id;
};

const reasons = async (channel: string) =>
  (await scenario.call("compliance_check", { propertyId: scenario.id, channel, playerId: player })).reasons;

describe("the unsubscribe link", () => {
  test("changes nothing when it is looked at, and shows that it is done ever after", async () => {
    for (const path of [unsubscribe, preferences]) {
      await visit(path);
      // As mail programs and proxies lengthen it.
      for (const more of ["/", ".", ")/", "%3E"]) {
        expect((await visit(path + more)).html, more).toBe((await visit(path)).html);
      }
      await fetch(`${service.baseUrl}${path}`, { method: "HEAD" });
    }
    expect(await reasons("email")).toEqual([]);
    expect((await visit(unsubscribe)).html).toContain("Stop these emails?");
    await visit(unsubscribe, "");
    expect((await visit(unsubscribe)).html).toContain("You are unsubscribed");
    expect(await reasons("email")).toEqual(["no_consent", "suppressed"]);
  });

  test.each([
    ["a form", () => new URLSearchParams({ "List-Unsubscribe": "One-Click" })],
    [
      "several parts",
      () => {
        const form = new FormData();
        form.set("List-Unsubscribe", "One-Click");
        return form;
      },
    ],
    ["nothing at all", () => ""],
  ])("acts at once on a POST of %s, without a redirect or a cookie", async (_, body) => {
    const { status, headers } = await visit(unsubscribe, body());
    expect([status, headers.get("location"), headers.get("set-cookie")]).toEqual([200, null, null]);
    expect(await reasons("email")).toEqual(["no_consent", "suppressed"]);
    expect(await reasons("sms")).toEqual([]);
  });
});

test("the ledger keeps the address of the person who presses the button, and none of a mail program's server", async () => {
  await visit(unsubscribe, new URLSearchParams({ "List-Unsubscribe": "One-Click" }));
  expect(await ledger()).toMatchObject([
    { channel: "email", action: "revoked", collection_method: "one_click", ip_address: null },
  ]);
  await consent(player, "email");
  const [, name, value] = /<button type="submit" name="(.*?)" value="(.*?)">/.exec(
    (await visit(unsubscribe)).html,
  )!;
  await visit(unsubscribe, new URLSearchParams({ [name!]: value! }));
  expect((await ledger()).at(-1)).toMatchObject({
    action: "revoked",
    collection_method: "preference_page",
    actor_type: "player",
    ip_address: expect.stringMatching(/127\.0\.0\.1$/),
  });
});

describe("a link that is sent again and again", () => {
  const written = () =>
    scenario.query(
      (sql) => sql`
      select (select count(*)::int from consent_records where property_id = ${scenario.id}) as consents,
        (select count(*)::int from audit_logs where property_id = ${scenario.id}) as audits,
        (select count(*)::int from suppressions where property_id = ${scenario.id}) as suppressions`,
    );

  test("adds nothing to any ledger while what it asked for stands", async () => {
    await visit(unsubscribe, "");
    await save([["on", "sms"]]);
    const before = [...(await written())];
    for (let turn = 0; turn < 3; turn++) {
      expect(await visit(unsubscribe, "")).toMatchObject({
        status: 200,
        html: expect.stringContaining("You are unsubscribed"),
      });
      expect((await save([["on", "sms"]])).html).toContain("Saved");
    }
    expect([...(await written())]).toEqual(before);
  });

  test.each([
    ["the same address", async () => {}],
    [
      "another address that the player has meanwhile",
      async () => {
        await scenario.call("update_player", { id: player, email: `new-${email}` });
        await visit(unsubscribe, "");
      },
    ],
  ])("is the later refusal: no consent from before lifts it, by %s", async (_, meanwhile) => {
    await visit(unsubscribe, "");
    await meanwhile();
    const [clock] = await scenario.query((sql) => sql`select to_json(clock_timestamp()) #>> '{}' as now`);
    await visit(unsubscribe, "");
    const between = consent(player, "email", clock!.now);
    await expect(between).rejects.toThrow("last word on email is a refusal");
    expect(await reasons("email")).toEqual(["no_consent", "suppressed"]);
    await consent(player, "email");
    expect(await reasons("email")).toEqual([]);
  });

  test.each([
    ["a later grant", () => consent(player, "email")],
    [
      "a suppression that was lifted",
      () =>
        scenario.query(
          (sql) => sql`update suppressions set lifted_at = now() where property_id = ${scenario.id}`,
        ),
    ],
    ["another player with the address", () => scenario.player({ player_id: "twin", email })],
    [
      "another address of the same player",
      () => scenario.call("update_player", { id: player, email: `new-${email}` }),
    ],
  ])("acts anew after %s", async (_, change) => {
    await visit(unsubscribe, "");
    const before = (await ledger()).length;
    await change();
    await visit(unsubscribe, "");
    expect((await ledger()).length).toBeGreaterThan(before);
    expect(await reasons("email")).toEqual(["no_consent", "suppressed"]);
  });

  test("turns email on no more than ten times a day, and off every time", async () => {
    const on: [string, string][] = [
      ["on", "email"],
      ["was_off", "email"],
    ];
    for (let turn = 0; turn < 10; turn++) {
      await visit(unsubscribe, "");
      expect((await save(on)).status).toBe(200);
    }
    expect((await visit(unsubscribe, "")).status).toBe(200);
    expect((await save(on)).status).toBe(429);
    expect(await reasons("email")).toEqual(["no_consent", "suppressed"]);
  });
});

describe("the preference page", () => {
  test("shows what the player gets by each channel, in the property's name", async () => {
    const { status, html } = await visit(preferences);
    expect(status).toBe(200);
    expect(html).toContain("Lucky &lt;Star&gt;");
    expect(shown(html)).toEqual({ sms: "on", email: "on", voice: "fixed" });
    const forged = preferences.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
    expect((await visit(forged)).status).toBe(404);
  });

  test("turns off what is not ticked, and nothing else", async () => {
    const { html } = await save([["on", "email"]]);
    expect(html).toContain("Saved");
    expect(shown(html)).toEqual({ sms: "fixed", email: "on", voice: "fixed" });
    expect(await reasons("sms")).toEqual(["no_consent", "suppressed"]);
    expect([...(await ledger())]).toMatchObject([
      { channel: "sms", action: "revoked", collection_method: "preference_page", actor_type: "player" },
    ]);
  });

  test("stops everything by one button, with any boxes ticked", async () => {
    const { html } = await save([
      ["on", "email"],
      ["on", "sms"],
      ["stop", "1"],
    ]);
    expect(shown(html)).toEqual({ sms: "fixed", email: "off", voice: "fixed" });
  });

  test("stops by that button what is off for another reason too, which may end", async () => {
    const entry = { phone, list: "reassigned" };
    const { id } = await scenario.call("create_dnc_entry", entry);
    await save([["stop", "1"]]);
    await scenario.call("delete_dnc_entry", { id });
    expect(await reasons("sms")).toEqual(["no_consent", "suppressed"]);
    const before = (await ledger()).length;
    await save([["stop", "1"]]);
    expect(await ledger()).toHaveLength(before);
  });

  test("turns email on again by a new consent to the words that it shows", async () => {
    const { html } = await save([["on", "sms"]]);
    expect(shown(html).email).toBe("off");
    const agreed = await save([
      ["on", "sms"],
      ["on", "email"],
      ["was_off", "email"],
    ]);
    expect(shown(agreed.html).email).toBe("on");
    expect(await reasons("email")).toEqual([]);
    const [, granted] = await ledger();
    expect(granted).toMatchObject({
      channel: "email",
      action: "granted",
      actor_type: "player",
      ip_address: expect.stringMatching(/127\.0\.0\.1$/),
      consent_version: "preference-page-1",
    });
    expect(html).toContain(granted!.consent_text.replace("<", "&lt;").replace(">", "&gt;"));
  });

  test("takes an old page that is sent again for no new consent", async () => {
    await visit(unsubscribe, "");
    const { html } = await save([
      ["on", "sms"],
      ["on", "email"],
    ]);
    expect(shown(html).email).toBe("off");
    expect(await reasons("email")).toEqual(["no_consent", "suppressed"]);
  });

  test("of an email turns no text messages on", async () => {
    await save([["on", "email"]]);
    const { html } = await save([
      ["on", "email"],
      ["on", "sms"],
      ["was_off", "sms"],
    ]);
    expect(shown(html).sms).toBe("fixed");
    const sendId = await sendOf(player);
    await expect(scenario.call("save_preferences", { sendId, on: ["sms"] })).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("of an address that the player has no more turns it off and not on", async () => {
    await scenario.call("update_player", { id: player, email: `new-${email}` });
    await consent(player, "email");
    const { html } = await save([["on", "sms"]]);
    expect(shown(html).email).toBe("fixed");
    expect(await reasons("email")).toContain("no_consent");
  });

  test.each(["complaint", "manual"])("does not turn on what is suppressed by %s", async (reason) => {
    await scenario.call("create_suppression", { channel: "email", address: email, reason });
    const { html } = await save([
      ["on", "sms"],
      ["on", "email"],
      ["was_off", "email"],
    ]);
    expect(shown(html).email).toBe("fixed");
    expect(await reasons("email")).toEqual(["suppressed"]);
    // The page leaves it out of the call already.
    const sendId = await sendOf(player);
    await expect(scenario.call("save_preferences", { sendId, on: ["email"] })).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("does not turn on who has excluded themselves, or is gone", async () => {
    await scenario.call("create_self_exclusion", { player_id: player });
    expect(shown((await visit(preferences)).html)).toEqual({ sms: "fixed", email: "fixed", voice: "fixed" });
    await scenario.call("delete_player", { id: player });
    expect(shown((await visit(preferences)).html)).toEqual({ email: "fixed" });
    expect((await save([["stop", "1"]])).status).toBe(200);
  });

  test("takes a body that is no form for nothing", async () => {
    const { status, html } = await visit(preferences, "x".repeat(20_000));
    expect([status, shown(html).email]).toEqual([200, "on"]);
    expect(await reasons("sms")).toEqual([]);
  });
});
