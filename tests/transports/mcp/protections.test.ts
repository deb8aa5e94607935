import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isGrave, mayAsk } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let key: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = await newScenario(service);
  ({ api_key: key } = await service.call("create_api_key", {
    property_id: scenario.id,
    name: "agent",
    rate_limit: 1_000_000,
  }));
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;

const agent = (name: string, input: Fields) =>
  onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": key });

const unique = () => randomUUID().slice(0, 8);
let phones = 1_000;
const anyPhone = () => {
  phones += 1;
  return `+1702555${phones}`;
};
const make = async (name: string, input: Fields): Promise<string> => (await scenario.call(name, input)).id;

/** A player who has agreed to mail. */
const agreed = async (): Promise<string> => {
  const id = await make("create_player", { player_id: unique(), email: `${unique()}@example.com` });
  const propertyId = scenario.id;
  const consent = { propertyId, playerId: id, channel: "email", consentGiven: true };
  await service.call("consent_record", consent, propertyId);
  return id;
};
const weeklyCap = () =>
  make("create_frequency_rule", { channel: "sms", max_sends: 2, window_count: 1, window_unit: "week" });
const daytime = () =>
  make("create_quiet_hours_rule", {
    country: "NZ",
    channel: ["sms"],
    open_local: "09:00",
    close_local: "20:00",
  });
const hook = (fields: Fields = {}) =>
  make("create_webhook_endpoint", { url: "https://example.com/hook", events: ["*"], ...fields });
const vendor = () => make("create_message_provider", { channel: "email", kind: "mailbox", name: unique() });
const draft = () => scenario.campaign({ name: unique() });

/** Calls that weaken a protection, each with words that the person must read. */
type Protection = [name: string, call: () => Promise<[string, Fields]>, words: RegExp];

const WEAKENING: Protection[] = [
  [
    "a cap that is switched off",
    async () => ["update_frequency_rule", { id: await weeklyCap(), is_active: false }],
    /loosens a frequency rule: is_active true becomes false/,
  ],
  [
    "a cap of more messages",
    async () => ["update_frequency_rule", { id: await weeklyCap(), max_sends: 20 }],
    /max_sends 2 becomes 20/,
  ],
  [
    "a cap of a shorter window",
    async () => ["update_frequency_rule", { id: await weeklyCap(), window_unit: "day" }],
    /window_unit "week" becomes "day"/,
  ],
  [
    "a cap of another channel",
    async () => ["update_frequency_rule", { id: await weeklyCap(), channel: "email" }],
    /channel "sms" becomes "email"/,
  ],
  [
    "a cap of one tag",
    async () => ["update_frequency_rule", { id: await weeklyCap(), tag: "never" }],
    /tag null becomes "never"/,
  ],
  [
    "longer hours",
    async () => ["update_quiet_hours_rule", { id: await daytime(), close_local: "23:30" }],
    /loosens a rule of quiet hours: close_local "20:00" becomes "23:30"/,
  ],
  [
    "hours of fewer channels",
    async () => ["update_quiet_hours_rule", { id: await daytime(), channel: ["voice"] }],
    /channel \["sms"\] becomes \["voice"\]/,
  ],
  [
    "new hours beside those there are",
    async () => ["create_quiet_hours_rule", { country: "NZ", open_local: "00:00", close_local: "24:00" }],
    /may open hours/,
  ],
  [
    "personal data to a receiver",
    async () => [
      "create_webhook_endpoint",
      { url: "https://evil.example/all", events: ["*"], include_pii: true },
    ],
    /go to "https:\/\/evil\.example\/all" from now on, with the events \*/,
  ],
  [
    "personal data to a receiver that had none",
    async () => ["update_webhook_endpoint", { id: await hook(), include_pii: true }],
    /include_pii/,
  ],
  [
    "personal data to another receiver",
    async () => [
      "update_webhook_endpoint",
      { id: await hook({ include_pii: true }), url: "https://evil.example/all" },
    ],
    /evil\.example/,
  ],
  [
    "a new provider",
    async () => ["create_message_provider", { channel: "email", kind: "mailbox", name: "Evil" }],
    /Messages by email may leave by the provider "Evil" \(mailbox\)/,
  ],
  [
    "another sender of a provider",
    async () => ["update_message_provider", { id: await vendor(), from_address: "evil@example.com" }],
    /changes its from_address/,
  ],
  [
    "a campaign that frequency rules do not hold back",
    async () => ["update_campaign", { id: await draft(), ignore_frequency_cap: true }],
    /switches a rule off for the campaign "[0-9a-f]{8}": frequency rules do not hold it back/,
  ],
  [
    "a transactional campaign",
    async () => ["create_campaign", { name: "Receipt", audience: "all", is_transactional: true }],
    /is_transactional/,
  ],
  [
    "an import over what is there",
    async () => {
      const player_id = unique();
      await make("create_player", { player_id });
      return [
        "create_import_job",
        { rows: [{ player_id, email: "a@example.com" }, { player_id: unique() }] },
      ];
    },
    /go over those of 1 player who is there already/,
  ],
  [
    "an import that fills what is blank",
    async () => {
      const player_id = unique();
      await make("create_player", { player_id });
      const rows = [{ player_id, timezone: "Asia/Tokyo" }];
      return ["create_import_job", { rows, on_conflict: "fill_blanks" }];
    },
    /fill what is blank of 1 player who is there already/,
  ],
  [
    "a minor who comes of age by a correction",
    async () => {
      const id = await make("create_player", { player_id: unique(), birth_date: "2020-02-29" });
      return ["update_player", { id, birth_date: "1980-01-01" }];
    },
    /lifts a bar: the birth date of the player "[0-9a-f]{8}" was 2020-02-29, under 21, and becomes 1980-01-01/,
  ],
  [
    "a minor whose birth date is taken out",
    async () => {
      const id = await make("create_player", { player_id: unique(), birth_date: "2020-02-29" });
      return ["update_player", { id, birth_date: null }];
    },
    /under 21, and becomes unknown/,
  ],
  [
    "quiet hours that go by another place",
    async () => ["update_player", { id: await agreed(), timezone: "Asia/Tokyo", state: "NV" }],
    /quiet hours of the player "[0-9a-f]{8}" go by another place: timezone null becomes "Asia\/Tokyo"/,
  ],
  [
    "a new player whose name is a link",
    async () => ["create_player", { first_name: "Ann", last_name: "evil.example" }],
    /Messages that show last_name show the new player a web address: "evil\.example"/,
  ],
  [
    "a name that is a link in other letters",
    async () => ["update_player", { id: await agreed(), first_name: "ｅｖｉｌ．example" }],
    /a web address/,
  ],
  [
    "a file with a link for a name",
    async () => [
      "create_import_job",
      {
        rows: [
          { player_id: unique(), first_name: "Ann" },
          { player_id: unique(), last_name: "evil.example/x" },
        ],
      },
    ],
    /1 row of the file has a web address in a text that messages show, such as last_name: "evil\.example\/x"/,
  ],
  [
    "a name that is a link",
    async () => ["update_player", { id: await agreed(), first_name: "You won! See evil.example/now" }],
    /Messages that show first_name show the player "[0-9a-f]{8}" a web address/,
  ],
  ...[
    "Call (702) 555-0199 now",
    "+1 702 555 0199",
    "Claim at 7025550199",
    "702.555.0199",
    "Call ７０２ ５５５ ０１９９",
  ].map(
    (first_name): Protection => [
      `a name with a phone number, ${first_name}`,
      async () => ["update_player", { id: await agreed(), first_name }],
      /Messages that show first_name show the player "[0-9a-f]{8}" a phone number: ".*"/,
    ],
  ),
  [
    "a file with a phone number for a name",
    async () => [
      "create_import_job",
      { rows: [{ player_id: unique(), last_name: "Claim it: 702-555-0199" }] },
    ],
    /1 row of the file has a phone number in a text that messages show, such as last_name: "Claim it: 702-555-0199"/,
  ],
  [
    "a player who leaves a hold",
    async () => [
      "update_player",
      { id: await make("create_player", { player_id: unique(), status: "vip_hold" }), status: "active" },
    ],
    /lifts a bar: the player "[0-9a-f]{8}" leaves vip_hold, becomes active, and may be written to again/,
  ],
  [
    "mail to a player who has agreed to it that goes to another address",
    async () => ["update_player", { id: await agreed(), email: `${unique()}@example.org` }],
    /From now on mail to the player "[0-9a-f]{8}" goes to "[0-9a-f]{8}@example.org", on the consent/,
  ],
  [
    "a player who lets go of a phone that must not be called",
    async () => {
      const phone = anyPhone();
      const id = await make("create_player", { player_id: unique(), phone });
      await make("create_dnc_entry", { phone });
      return ["update_player", { id, phone: null }];
    },
    /lifts a bar: the phone that the player "[0-9a-f]{8}" has now is on the do-not-call list internal/,
  ],
  [
    "a player who gets another phone in place of a listed one",
    async () => {
      const phone = anyPhone();
      const id = await make("create_player", { player_id: unique(), phone });
      await make("create_dnc_entry", { phone, list: "national" });
      return ["update_player", { id, phone: anyPhone() }];
    },
    /is on the do-not-call list national\. Without it the player "[0-9a-f]{8}" may be written to again/,
  ],
  [
    "a player who lets go of a suppressed address",
    async () => {
      const id = await agreed();
      const { email } = await scenario.call("get_player", { id });
      await make("create_suppression", { channel: "email", address: email, reason: "complaint" });
      return ["update_player", { id, email: `${unique()}@example.org` }];
    },
    /the email that the player "[0-9a-f]{8}" has now is on the suppressions \(complaint, email\)/,
  ],
  [
    "a request under privacy law that is rejected",
    async () => {
      const player_id = await agreed();
      const request = await make("create_privacy_request", { player_id, type: "deletion" });
      return ["update_privacy_request", { id: request, status: "rejected" }];
    },
    /ends the deletion request of the player "[0-9a-f]{8}", which is due at .+, as rejected\. It does nothing else/,
  ],
  [
    "a browser that gets a player's web push",
    async () => [
      "create_push_subscription",
      {
        player_id: await make("create_player", { player_id: unique() }),
        endpoint: `https://push.example.com/${unique()}`,
        p256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
        auth: "tBHItJI5svbpez7KI4CCXg",
      },
    ],
    /Web push to the player "[0-9a-f]{8}" goes to a browser behind "push.example.com" too/,
  ],
  [
    "a word that is no STOP any more",
    async () => [
      "update_sms_keyword",
      {
        id: await make("create_sms_keyword", { text: `halt ${unique()}`, action: "stop" }),
        action: "ignore",
      },
    ],
    /are read as ignore from now on/,
  ],
];

describe("what weakens a protection", () => {
  test.each(WEAKENING)("is asked about, and not done: %s", async (_, making, words) => {
    const [name, input] = await making();
    const { table } = CATALOG.operations.get(name)!.crud!;
    const rows = () => scenario.call(`list_${table.name}`, { limit: 1000 });
    const before = await rows();
    const asked = await agent(name, input);
    expect(asked.data, JSON.stringify(asked.data)).toMatchObject({ confirmation_required: true });
    expect(asked.data).not.toHaveProperty("success");
    expect(asked.data).not.toHaveProperty("secret");
    expect(asked.data.message).toMatch(words);
    expect(await rows()).toEqual(before);
    const { confirm_token } = asked.data;
    const done = await agent(name, { ...input, confirm_token });
    expect(done.data, JSON.stringify(done.data)).toMatchObject({ id: expect.any(String) });
    expect(done.data).not.toHaveProperty("confirmation_required");
    expect(await rows()).not.toEqual(before);
  });

  test.each<[string, () => Promise<[string, Fields]>]>([
    ["a stricter cap", async () => ["update_frequency_rule", { id: await weeklyCap(), max_sends: 1 }]],
    ["a note on a cap", async () => ["update_frequency_rule", { id: await weeklyCap(), source_note: "Law" }]],
    ["shorter hours", async () => ["update_quiet_hours_rule", { id: await daytime(), open_local: "10:00" }]],
    [
      "a receiver without personal data",
      async () => ["create_webhook_endpoint", { url: "https://example.com/hook", events: ["*"] }],
    ],
    ["an import of new players", async () => ["create_import_job", { rows: [{ player_id: unique() }] }]],
    [
      "a player who goes on hold",
      async () => ["update_player", { id: await make("create_player", {}), status: "vip_hold" }],
    ],
    [
      "a tier of a player on hold",
      async () => [
        "update_player",
        { id: await make("create_player", { status: "vip_hold" }), status: "vip_hold", tier: "Gold" },
      ],
    ],
    [
      "another address of a player who has agreed to nothing",
      async () => [
        "update_player",
        { id: await make("create_player", {}), email: `${unique()}@example.org` },
      ],
    ],
    ["a draft", async () => ["create_campaign", { name: unique(), audience: "all" }]],
    [
      "an import that fills blanks",
      async () => ["create_import_job", { rows: [{ player_id: unique() }], on_conflict: "fill_blanks" }],
    ],
    ["a word that stops", async () => ["create_sms_keyword", { text: `no ${unique()}`, action: "stop" }]],
  ])("is not what is done at once: %s", async (_, making) => {
    const [name, input] = await making();
    const done = await agent(name, input);
    expect(done.data, JSON.stringify(done.data)).toMatchObject({ id: expect.any(String) });
    expect(done.data).not.toHaveProperty("confirmation_required");
  });

  test("is a change of address or hour too, where a property's mail needs no consent", async () => {
    const optOut = await newScenario(service, { email_consent_mode: "opt_out" });
    const { api_key } = await service.call("create_api_key", { property_id: optOut.id, name: "agent" });
    const ask = (name: string, input: Fields) =>
      onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": api_key });
    const update = (input: Fields) => ask("update_player", input);
    const fields = { player_id: unique(), email: `${unique()}@example.com` };
    const { id } = await optOut.call("create_player", fields);
    const moved = (await update({ id, email: "stranger@example.org" })).data;
    expect(moved).toMatchObject({ confirmation_required: true });
    expect(moved.message).toMatch(
      /From now on mail to the player ".+" goes to "stranger@example.org", which needs no consent here\./,
    );
    const later = (await update({ id, timezone: "Asia/Tokyo" })).data;
    expect(later.message).toMatch(/quiet hours of the player ".+" go by another place/);
    const rows = [{ player_id: fields.player_id, email: "stranger@example.org", timezone: "Asia/Tokyo" }];
    const file = (await ask("create_import_job", { rows, on_conflict: "overwrite" })).data;
    expect(file.message).toContain(
      "Players whose mail goes to another address, which needs no consent here: 1.",
    );
    expect(file.message).toContain("Players whose quiet hours go by another place: 1.");
    const refusal = { propertyId: optOut.id, playerId: id, channel: "email" };
    await optOut.call("consent_revoke", refusal);
    expect((await update({ id, timezone: "Asia/Tokyo" })).data).not.toHaveProperty("confirmation_required");
  });

  // In the first zone the day begins 12 hours behind the day in UTC, in the second 14 hours before it.
  test.each(["Etc/GMT+12", "Pacific/Kiritimati"])(
    "is the age by the day in %s, as the gate sees it",
    async (timezone) => {
      const there = await newScenario(service, { timezone, min_age: 24 });
      const { api_key } = await service.call("create_api_key", { property_id: there.id, name: "agent" });
      const today = new Date().toLocaleDateString("sv-SE", { timeZone: timezone });
      const born = (days: number) => {
        const day = new Date(`${today}T00:00:00Z`);
        day.setUTCDate(day.getUTCDate() + days);
        day.setUTCFullYear(day.getUTCFullYear() - 24);
        return day.toISOString().slice(0, 10);
      };
      const asked = async (birth_date: string) => {
        const { id } = await there.call("create_player", { player_id: unique(), birth_date });
        const input = { id, birth_date: "1980-01-01" };
        const { data } = await onceOverMcp(service, CATALOG.operations.get("update_player")!, input, {
          "X-Api-Key": api_key,
        });
        return data.confirmation_required === true;
      };
      expect([await asked(born(1)), await asked(born(0))]).toEqual([true, false]);
    },
  );

  test("acts at once over REST, where programs have decided", async () => {
    const headers = { "X-Api-Key": key };
    const path = `/api/frequency_rules/${await weeklyCap()}`;
    const done = await service.request("PATCH", path, { body: { is_active: false }, headers });
    expect([done.status, done.body.is_active]).toEqual([200, false]);
  });

  test("is asked about once more where it is another by the time that it is confirmed", async () => {
    const id = await weeklyCap();
    const input = { id, max_sends: 20 };
    const { confirm_token } = (await agent("update_frequency_rule", input)).data;
    await scenario.call("update_frequency_rule", { id, max_sends: 1 });
    const again = await agent("update_frequency_rule", { ...input, confirm_token });
    expect(again.data).toMatchObject({ confirmation_required: true });
    expect(again.data.message).toContain("It has changed since that preview.");
    expect(again.data.message).toContain("max_sends 1 becomes 20");
  });

  test("is to rewrite the texts of a whole audience, one player after another", async () => {
    const ids = await Promise.all(Array.from({ length: 27 }, () => make("create_player", {})));
    const rename = (id: string, more: Fields = {}) =>
      agent("update_player", { id, first_name: "You are bankrupt", ...more });
    const answers = [];
    for (const id of ids) answers.push((await rename(id)).data);
    const asked = answers.filter((data) => data.confirmation_required);
    expect(answers.length - asked.length).toBeLessThanOrEqual(25);
    expect(asked.at(-1)!.message).toContain("25 players and more have got other texts from this caller");
    expect(asked.at(-1)!.message).toContain('show the player "');
    const last = ids.at(-1)!;
    expect((await scenario.call("get_player", { id: last })).first_name).toBeNull();
    // One who has been renamed already is no further one, and figures are no texts.
    const again = await agent("update_player", { id: ids[0], first_name: "Ann" });
    const figures = await agent("update_player", { id: last, adt: 12 });
    const other = await agent("create_player", { first_name: "New" });
    expect([again, figures, other].map(({ data }) => data.confirmation_required)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const named = await rename(last, { confirm_token: asked.at(-1)!.confirm_token });
    expect(named.data, JSON.stringify(named.data)).toMatchObject({
      id: last,
      first_name: "You are bankrupt",
    });
  });

  test("resolves a review of a text by a person's word alone", async () => {
    const text = { propertyId: scenario.id, from: "+17025550142", text: "I'm at the bus stop" };
    const { message_id: messageId } = await scenario.call("receive_sms", text);
    const asked = await agent("resolve_sms_review", { messageId, decision: "revoke" });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain("gets no more texts");
  });

  test("of the property's own settings is asked of its manager's agent", async () => {
    const { token } = await service.signIn({ role: "manager" });
    const told = await onceOverMcp(
      service,
      CATALOG.operations.get("update_property")!,
      { propertyId: service.tenant.id, email_consent_mode: "opt_out", min_age: 18 },
      { "X-Api-Key": null, Authorization: `Bearer ${token}` },
    );
    expect(told.data).toMatchObject({ confirmation_required: true });
    expect(told.data.message).toContain('min_age 18, email_consent_mode "opt_out"');
  });

  test("of a property that is not the person's are refused as such", async () => {
    const { token } = await service.signIn({ role: "manager" });
    const { id } = await service.newTenant();
    const theirs = { "X-Api-Key": null, Authorization: `Bearer ${token}`, "X-Property-Id": id };
    const told = await onceOverMcp(service, CATALOG.operations.get("get_property")!, {}, theirs);
    expect(told.data).toMatchObject({ code: "wrong_property" });
  });
});

describe("a file over players who are there", () => {
  const asked = async (rows: Fields[], more: Fields = {}) =>
    (await agent("create_import_job", { rows, ...more })).data.message as string;

  test("is asked about by each protection that it weakens, with how many", async () => {
    const phone = anyPhone();
    await make("create_dnc_entry", { phone });
    const numbers = Array.from({ length: 5 }, unique);
    const [held, young, listed, moved, placed] = numbers;
    await make("create_player", { player_id: held, status: "vip_hold" });
    await make("create_player", { player_id: young, birth_date: "2020-02-29" });
    await make("create_player", { player_id: listed, phone });
    for (const player_id of [moved, placed]) {
      const id = await make("create_player", { player_id, email: `${unique()}@example.com` });
      const evidence = { consentSource: "desk", consentText: "I agree" };
      for (const channel of ["email", "sms"])
        await scenario.call("consent_record", { playerId: id, channel, consentGiven: true, ...evidence });
    }
    const rows = [
      { player_id: held, status: "active" },
      { player_id: young, birth_date: "1980-01-01" },
      { player_id: listed, phone: anyPhone() },
      { player_id: moved, email: `${unique()}@example.org`, phone: anyPhone() },
      { player_id: placed, timezone: "Pacific/Honolulu" },
    ];
    const message = await asked(rows);
    expect(message).toContain("go over those of 5 players who are there already");
    for (const words of [
      "This lifts a bar. Players who leave vip_hold: 1.",
      "This lifts a bar. Players who are old enough by another birth date: 1.",
      "Players who let go of an address on a do-not-call list or among the suppressions: 1.",
      "Players whose mail goes to another address, on the consent that they have given: 1.",
      "Players whose texts and calls go to another phone, on the consent that they have given: 1.",
      "Players whose quiet hours go by another place: 1.",
    ])
      expect(message).toContain(words);
    const filled = await asked(rows, { on_conflict: "fill_blanks" });
    expect(filled).not.toContain("lifts a bar");
    expect(filled).not.toContain("mail goes to another address");
    expect(filled).toContain("texts and calls go to another phone, on the consent that they have given: 1.");
    expect(filled).toContain("Players whose quiet hours go by another place: 1.");
    const harmless = await asked(numbers.map((player_id) => ({ player_id, adt: "12" })));
    expect(harmless).not.toMatch(/lifts a bar|another address|another phone|another place/);
  });
});

describe("an agent of a person", () => {
  const asPerson = async (name: string, input: Fields, headers: Record<string, string | null>) =>
    (await onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": null, ...headers }))
      .data;

  async function signedIn(more: Parameters<TestService["signIn"]>[0]) {
    const { token } = await service.signIn(more);
    return { Authorization: `Bearer ${token}` };
  }

  test("asks before it ends a legal hold, and not before it sets one", async () => {
    const manager = await signedIn({ role: "manager" });
    const { id: playerId } = await service.call("create_player", {}, service.tenant.id);
    const set = await asPerson("set_legal_hold", { playerId, legalHold: true }, manager);
    expect(set).toMatchObject({ success: true, legal_hold: true });
    const input = { playerId, legalHold: false };
    const asked = await asPerson("set_legal_hold", input, manager);
    expect(asked).toMatchObject({ confirmation_required: true });
    expect(asked.message).toMatch(/This ends the legal hold of the player ".+": the data can be erased/);
    const done = await asPerson("set_legal_hold", { ...input, confirm_token: asked.confirm_token }, manager);
    expect(done).toMatchObject({ success: true, legal_hold: false });
  });

  test("asks before it makes a key", async () => {
    const manager = await signedIn({ role: "manager" });
    const asked = await asPerson("create_api_key", { name: "crm" }, manager);
    expect(asked).toMatchObject({ confirmation_required: true });
    expect(asked).not.toHaveProperty("api_key");
    expect(asked.message).toMatch(/The key "crm" may read and write in ".+" without an end/);
    expect(asked.message).toContain("sees personal data whole, and acts at once over REST");
    const done = await asPerson(
      "create_api_key",
      { name: "crm", confirm_token: asked.confirm_token },
      manager,
    );
    expect(done.api_key).toMatch(/^pk_/);
  });

  test("asks before it makes a person, who decides in place of agents, or changes one", async () => {
    const operator = await signedIn({ platformAdmin: true });
    const email = `${unique()}@example.com`;
    const user = { email, password: "a long pass phrase of one", is_platform_admin: true };
    const asked = await asPerson("create_user", user, operator);
    expect(asked).toMatchObject({ confirmation_required: true });
    expect(asked.message).toContain(`${email} can sign in from now on`);
    expect(asked.message).toContain("may do everything in every property");
    const { id: user_id } = await asPerson(
      "create_user",
      { ...user, confirm_token: asked.confirm_token },
      operator,
    );
    const changed = await asPerson(
      "update_user",
      { user_id, password: "another long pass phrase" },
      operator,
    );
    expect(changed).toMatchObject({ confirmation_required: true });
    expect(changed.message).toContain(`${email} gets another password`);
    const granted = await asPerson(
      "grant_membership",
      { property_id: service.tenant.id, user_id, role: "admin" },
      operator,
    );
    expect(granted).toMatchObject({ confirmation_required: true });
    expect(granted.message).toMatch(new RegExp(`${email} is admin of ".+" from now on`));
    const named = await asPerson("update_user", { user_id, name: "Ann" }, operator);
    expect(named).toMatchObject({ name: "Ann" });
  });
});

describe("what is asked about a person", () => {
  test("names the number, the name, the counts and whether it can be undone", async () => {
    const email = `${unique()}@example.com`;
    const id = await scenario.player({
      email,
      player_id: `H-${unique()}`,
      first_name: "Zoë",
      last_name: "Smith",
    });
    const { player_id } = await scenario.call("get_player", { id });
    const deleted = await agent("delete_player", { id });
    expect(deleted.data.message).toContain(
      `the player "${player_id}", "Zoë Smith", with 0 messages, 1 consent`,
    );
    expect(deleted.data.message).toContain("restore_player brings the player back for 30 days.");
    const erased = await agent("data_deletion", { playerId: id });
    expect(erased.data.message).toContain(
      `erases the player "${player_id}", "Zoë Smith" for good. It cannot be undone.`,
    );
    expect(erased.data.message).toMatch(/Deleted: .+\. Kept without the person: .*consent_records 1/);
    expect((await scenario.call("get_player", { id })).email).toBe(email);
  });

  test.each([
    ["delete_player", "id"],
    ["data_deletion", "playerId"],
  ])("is asked again where the record has another name by then: %s", async (name, field) => {
    const id = await make("create_player", { player_id: unique(), first_name: "Test record" });
    const { confirm_token } = (await agent(name, { [field]: id })).data;
    await scenario.call("update_player", { id, first_name: "Ida" });
    const again = (await agent(name, { [field]: id, confirm_token })).data;
    expect(again).toMatchObject({ confirmation_required: true });
    expect(again.message).toMatch(/It has changed since that preview.+"Ida"/s);
    expect((await scenario.call("get_player", { id })).first_name).toBe("Ida");
    const done = (await agent(name, { [field]: id, confirm_token: again.confirm_token })).data;
    expect(done).toMatchObject({ success: true });
  });

  test("is confirmed by the credential that was shown it, and by no other", async () => {
    const id = await make("create_player", {});
    const { confirm_token } = (await agent("delete_player", { id })).data;
    const other = await service.call("create_api_key", { property_id: scenario.id, name: "other" });
    const operation = CATALOG.operations.get("delete_player")!;
    const taken = await onceOverMcp(
      service,
      operation,
      { id, confirm_token },
      { "X-Api-Key": other.api_key },
    );
    expect(taken.data).toMatchObject({ code: "invalid" });
    expect(JSON.stringify(taken.data)).toContain("of another property or credential");
    expect((await agent("delete_player", { id, confirm_token })).data).toMatchObject({ success: true });
  });

  test("is how many become self-excluded, and that they stay so", async () => {
    const person = { first_name: "Ed", last_name: unique(), birth_date: "1970-01-01" };
    await make("create_player", { player_id: unique(), ...person });
    const input = { ...person, ends_at: "2099-01-01T00:00:00Z" };
    const asked = (await agent("create_self_exclusion", input)).data;
    expect(asked.message).toContain("This bars the person from every channel. 1 record of a player becomes");
    expect(asked.message).toContain(
      "self_excluded, also after 2099-01-01T00:00:00Z. It cannot be taken back.",
    );
    await make("create_player", { player_id: unique(), ...person });
    const again = (await agent("create_self_exclusion", { ...input, confirm_token: asked.confirm_token }))
      .data;
    expect(again.message).toContain("2 records of players become");
  });

  test("is asked before a deleted player comes back", async () => {
    const playerId = await make("create_player", { player_id: `R-${unique()}`, first_name: "Ida" });
    await scenario.call("delete_player", { id: playerId });
    const asked = await agent("restore_player", { playerId });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toMatch(/restores the player "R-[0-9a-f]{8}", "Ida", with the status active/);
    await expect(scenario.call("get_player", { id: playerId })).rejects.toThrow();
    const { confirm_token } = asked.data;
    expect((await agent("restore_player", { playerId, confirm_token })).data).toMatchObject({ id: playerId });
  });

  test("is asked before two records become one, and nothing has changed by then", async () => {
    const playerId = await scenario.player({ email: `${unique()}@example.com`, player_id: `M-${unique()}` });
    const duplicateId = await make("create_player", { player_id: `N-${unique()}`, last_name: "Doe" });
    await scenario.call("create_player_event", { player_id: duplicateId, name: "visit" });
    const asked = await agent("merge_players", { playerId, duplicateId });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toMatch(
      /merges the player "N-[0-9a-f]{8}", "Doe" into the player "M-[0-9a-f]{8}"/,
    );
    expect(asked.data.message).toContain("Moved: player_events 1. Fields filled: last_name.");
    expect((await scenario.call("get_player", { id: playerId })).last_name).toBeNull();
    expect((await scenario.call("get_player", { id: duplicateId })).last_name).toBe("Doe");
    const { confirm_token } = asked.data;
    const done = await agent("merge_players", { playerId, duplicateId, confirm_token });
    expect(done.data).toMatchObject({ success: true, player_id: playerId, moved: { player_events: 1 } });
  });

  test("reads which messages and entries end as two records become one", async () => {
    const [kept, other] = [unique(), unique()];
    const playerId = await scenario.player({ email: `${kept}@example.com`, player_id: kept });
    const duplicateId = await scenario.player({ email: `${other}@example.com`, player_id: other });
    const campaignId = await scenario.campaign();
    for (const [player, status] of [
      [playerId, "deferred"],
      [duplicateId, "delivered"],
    ] as const)
      await scenario.query(
        (sql) => sql`
          insert into campaign_sends (property_id, campaign_id, player_id, channel, status, dedupe_key, scheduled_for)
          values (${scenario.id}, ${campaignId}, ${player}, 'email', ${status},
            sha256(convert_to(${player}, 'UTF8')), now() + interval '1 day')`,
      );
    const asked = await agent("merge_players", { playerId, duplicateId });
    expect(asked.data.message).toContain(
      "1 waiting message of the kept player is cancelled: the duplicate has had the same.",
    );
  });

  test("shows a key that is masked no whole name", async () => {
    const id = await scenario.player({
      email: `${unique()}@example.com`,
      first_name: "Zeldabeth",
      last_name: "Smith",
    });
    const masked = await service.call("create_api_key", {
      property_id: scenario.id,
      name: "masked",
      pii_masked: true,
    });
    const operation = CATALOG.operations.get("delete_player")!;
    const told = await onceOverMcp(service, operation, { id }, { "X-Api-Key": masked.api_key });
    expect(told.data.message).toContain('"Z••• S•••"');
    expect(JSON.stringify(told.data)).not.toContain("Zeldabeth");
  });

  test("names the record that is deleted", async () => {
    const rule = await agent("delete_frequency_rule", { id: await weeklyCap() });
    expect(rule.data.message).toMatch(
      /deletes the frequency rule \(channel "sms", max_sends 2, .+\)\. It cannot/,
    );
    const segment = await make("create_segment", {
      name: "Whales",
      conditions: [{ field: "adt", operator: "gt", value: 1000 }],
    });
    expect((await agent("delete_segment", { id: segment })).data.message).toContain('the segment "Whales"');
  });
});

/** Writes of agents that nobody is asked about, each with the reason. */
const AT_ONCE = {
  archive_game: "an ended game alone",
  cancel_campaign: "it stops messages",
  consent_revoke: "it stops messages",
  create_code_pool: "data",
  create_custom_field: "data",
  create_dnc_entry: "it stops messages",
  create_frequency_rule: "it stops messages",
  create_game: "a draft; activate_game asks",
  create_game_prize: "a draft's",
  create_journey: "a draft",
  create_journey_from_recipe: "a draft",
  create_privacy_request: "data",
  create_property: "a property of its own",
  create_segment: "no campaign has it yet",
  create_share_link: "data",
  create_social_share: "data",
  create_suppression: "it stops messages",
  create_template: "no campaign has it yet",
  create_upload_link: "a file that no import has taken yet",
  create_validation_job: "data",
  duplicate_campaign: "a draft",
  enter_game_free: "one ticket a day, by the game's rules",
  pause_all_sending: "it stops messages",
  pause_campaign: "it stops messages",
  pause_game: "it stops plays",
  pause_journey: "it stops messages",
  record_referral: "once a person, by the game's rules",
  redeem_prize: "a prize that was won, once",
  redeliver_webhook: "to a receiver that was asked about",
  replay_webhooks: "to a receiver that was asked about",
  rotate_push_keys: "browsers keep the key that they subscribed with",
  rotate_signing_key: "an operator's",
  rotate_webhook_secret: "to the caller alone",
  show_push: "it makes the property's keys once, and answers the public one",
  test_webhook: "without personal data",
  unschedule_campaign: "it stops messages",
  unsubscribe: "it stops messages",
  unsubscribe_push: "it stops messages",
  update_code_pool: "data",
  update_game: "a draft; activate_game asks",
  update_game_prize: "a draft's",
  update_journey: "the draft alone; publish_journey asks",
  update_social_share: "data",
  mark_inbox_messages: "an operator's",
  withdraw_invitation: "it takes a link back",
  withdraw_proposal: "it stops messages",
} satisfies Record<string, string>;

test("each write of the catalog is always asked about, asks by itself, or is known to need nobody", () => {
  const writes = [...CATALOG.operations.values()].filter(
    ({ effect, access }) => effect !== "read" && access !== "public" && access !== "person",
  );
  const silent = writes.filter((operation) => !mayAsk(operation)).map(({ name }) => name);
  expect(silent.toSorted()).toEqual(Object.keys(AT_ONCE).toSorted());
  expect(writes.filter(isGrave).length).toBeGreaterThan(20);
});

describe("a question about an account", () => {
  const SECRET = "hunter2-hunter2";
  const manager = async () => {
    const { token } = await service.signIn({ platformAdmin: true });
    return { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  };

  test("shows no credential of a provider, and its host", async () => {
    const url = `smtps://postmaster:${SECRET}@mail.example.com:465`;
    const input = { channel: "email", kind: "smtp", name: unique(), credentials: { url } };
    const { data } = await agent("create_message_provider", input);
    expect(data.confirmation_required).toBe(true);
    expect(JSON.stringify(data)).not.toContain(SECRET);
    expect(data.message).toContain('"url":"smtps://mail.example.com:465/•••"');
    const { confirm_token } = data;
    const done = await agent("create_message_provider", { ...input, confirm_token });
    expect(done.isError, JSON.stringify(done.data)).toBe(false);
    const again = await agent("update_message_provider", {
      id: done.data.id,
      credentials: { url: `${url}1` },
    });
    expect(JSON.stringify([done.data, again.data])).not.toContain(SECRET);
    const wrong = await agent("create_message_provider", {
      ...{ channel: "email", kind: "smtp", name: unique() },
      credentials: { url: `${SECRET}://`, other: SECRET },
    });
    expect(wrong.isError).toBe(true);
    expect(JSON.stringify(wrong.data)).not.toContain(SECRET);
  });

  test("shows no password of a user", async () => {
    const input = { email: `${unique()}@example.com`, password: SECRET };
    const headers = await manager();
    const { data } = await onceOverMcp(service, CATALOG.operations.get("create_user")!, input, headers);
    expect(data.confirmation_required).toBe(true);
    expect(JSON.stringify(data)).not.toContain(SECRET);
    expect(data.message).toContain('"password":"•••"');
  });

  test("each field of a call that callers never read again is sealed in questions", () => {
    const named = [...CATALOG.operations.values()].filter(mayAsk).flatMap(({ name, input, sealed }) =>
      Object.keys(input.shape)
        .filter((field) => /password|secret|credential|p256dh/.test(field) && !sealed.includes(field))
        .map((field) => `${name} ${field}`),
    );
    expect(named).toEqual([]);
  });
});

test("an agent is asked before it archives a custom field by which an approved campaign finds its players", async () => {
  const key = `club_${unique()}`;
  const id = await make("create_custom_field", { key, type: "text" });
  const archived_at = new Date().toISOString();
  const conditions = [{ field: `custom.${key}`, operator: "is_not_set" }];
  const campaign = await scenario.campaign({ name: unique(), audience: null, conditions });
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  await scenario.call("schedule_campaign", { campaign_id: campaign, segment_id: null, scheduled_at });
  const { data } = await agent("update_custom_field", { id, archived_at });
  expect(data.message).toContain(`The custom field ${key} takes no new values from now on.`);
  expect(data.message).toMatch(/The campaign "[0-9a-f]{8}", which is scheduled, uses this custom field\./);
  expect(await agent("update_custom_field", { id, label: "Club" })).toMatchObject({ isError: false });
  const other = await make("create_custom_field", { key: `free_${unique()}`, type: "text" });
  const done = await agent("update_custom_field", { id: other, archived_at });
  expect(Date.parse(String(done.data.archived_at))).toBe(Date.parse(archived_at));
});
