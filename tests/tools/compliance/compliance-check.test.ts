import { afterAll, beforeAll, expect, test } from "vitest";
import { newPlayer, openTwoProperties, type TwoProperties } from "./scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
});
afterAll(() => fixture.close());

interface Checked {
  allowed: boolean;
  reasons: string[];
  results: {
    phone?: string;
    email?: string;
    player_id: string | null;
    allowed: boolean;
    reasons: string[];
  }[];
}

const check = (input: object, at = fixture.property) =>
  fixture.run<Checked>("compliance_check", { channel: "sms", ...input }, { in: at });
const consented = async (input: object = {}, channel = "sms") => {
  const player = await newPlayer(fixture, input);
  await fixture.run("consent_record", { playerId: player.id, channel, consentGiven: true });
  return player;
};

test("a consented phone is allowed, however it is written", async () => {
  const player = await consented({ phone: "+12025551001" });
  expect(await check({ phone: "(202) 555-1001" })).toEqual({
    allowed: true,
    reasons: [],
    counts: { checked: 1, allowed: 1, waiting: 0, dropped: 0, blocked: {}, deferred: {} },
    results: [
      {
        phone: "(202) 555-1001",
        player_id: player.id,
        allowed: true,
        reasons: [],
        checked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\+00:00$/),
      },
    ],
  });
});

test("the specification's three reasons: suppressed, dnc, no_consent", async () => {
  const player = await newPlayer(fixture);
  await fixture.run("create_suppression", { channel: "sms", address: player.phone });
  await fixture.run("create_dnc_entry", { phone: player.phone });
  expect(await check({ phone: player.phone })).toMatchObject({
    allowed: false,
    reasons: ["dnc", "no_consent", "suppressed"],
  });
});

test("a phone that nobody has is blocked by what the lists know of it", async () => {
  expect(await check({ phone: "+12025551100" })).toMatchObject({
    allowed: false,
    results: [{ player_id: null, reasons: ["no_consent"] }],
  });
  await fixture.run("create_dnc_entry", { phone: "+12025551101" });
  await fixture.run("create_dnc_entry", { phone: "+12025551101", list: "reassigned" });
  await fixture.run("create_suppression", { channel: "all", address: "+12025551101" });
  await fixture.run("create_self_exclusion", { phone: "+12025551101" });
  const known = { phone: "+12025551101" };
  expect((await check(known)).reasons).toEqual([
    "dnc",
    "no_consent",
    "reassigned_number",
    "self_excluded",
    "suppressed",
  ]);
  expect((await check({ ...known, channel: "email" })).reasons).toEqual([
    "dnc",
    "no_consent",
    "self_excluded",
    "suppressed",
  ]);
  expect((await check(known, fixture.rival)).reasons).toEqual(["no_consent"]);
});

test("each do-not-call list bars every channel, and that of reassigned numbers calls and texts", async () => {
  for (const [index, list] of ["internal", "national", "state", "litigator", "wireless"].entries()) {
    const { phone } = await newPlayer(fixture, { phone: `+1202555115${index}` });
    await fixture.run("create_dnc_entry", { phone, list });
    for (const channel of ["sms", "voice", "email", "push"])
      expect((await check({ phone, channel })).reasons, `${list} ${channel}`).toContain("dnc");
  }
  const reassigned = { phone: "+12025551159" };
  await fixture.run("create_dnc_entry", { ...reassigned, list: "reassigned" });
  expect((await check({ ...reassigned, channel: "voice" })).reasons).toContain("reassigned_number");
  expect((await check({ ...reassigned, channel: "email" })).reasons).toEqual(["no_consent"]);
});

test("a bulk check answers in the order asked, repeats included", async () => {
  const yes = await consented();
  const no = await newPlayer(fixture);
  const asked = [no.phone, "nonsense", yes.phone, "+12025551200", no.phone];
  const { allowed, reasons, results } = await check({ phone: yes.phone, phones: asked });
  expect(results.map((one) => [one.phone, one.player_id, one.reasons])).toEqual([
    [yes.phone, yes.id, []],
    [no.phone, no.id, ["no_consent"]],
    ["nonsense", null, ["invalid_address", "no_consent"]],
    [yes.phone, yes.id, []],
    ["+12025551200", null, ["no_consent"]],
    [no.phone, no.id, ["no_consent"]],
  ]);
  expect([allowed, reasons]).toEqual([false, ["invalid_address", "no_consent"]]);
});

test("emails and players can be asked about too", async () => {
  const player = await consented({}, "email");
  const deleted = await consented({}, "email");
  await fixture.run("delete_player", { id: deleted.id });
  const foreign = await newPlayer(fixture, {}, fixture.rival);
  const { results } = await check({
    channel: "email",
    email: player.email.toUpperCase(),
    emails: ["nobody@example.com"],
    playerId: player.id,
    playerIds: [deleted.id, foreign.id],
  });
  expect(results.map((one) => [one.email, one.player_id, one.reasons])).toEqual([
    [player.email.toUpperCase(), player.id, []],
    ["nobody@example.com", null, ["no_consent"]],
    [undefined, player.id, []],
    [undefined, deleted.id, ["no_consent"]],
    [undefined, foreign.id, ["no_consent"]],
  ]);
});

test("a player who was not asked bars nobody, and one who has refused bars all who have the address, also once the record is gone", async () => {
  const phone = "+12025551310";
  const silent = await newPlayer(fixture, { phone });
  const willing = await consented({ phone });
  expect(await check({ phone })).toMatchObject({ allowed: true, results: [{ player_id: willing.id }] });
  await fixture.run("consent_record", { playerId: silent.id, channel: "sms", consentGiven: false });
  expect(await check({ phone })).toMatchObject({
    results: [{ player_id: silent.id, reasons: ["no_consent"] }],
  });
  expect((await check({ playerId: willing.id })).reasons).toEqual(["shared_address"]);
  expect((await check({ playerId: willing.id, channel: "voice" })).reasons).toEqual(["no_consent"]);
  await fixture.run("delete_player", { id: silent.id });
  expect(await check({ phone })).toMatchObject({
    results: [{ player_id: willing.id, reasons: ["suppressed"] }],
  });
});

test("a do-not-call entry and an age bar their own player alone; a hold bars everybody with the email", async () => {
  const email = "household@example.com";
  const other = await consented({ email, phone: "+12025551320" }, "email");
  const listed = await consented({ email, phone: "+12025551321", birth_date: "2015-01-01" }, "email");
  await fixture.run("create_dnc_entry", { phone: "+12025551321" });
  const asked = { channel: "email", playerId: other.id };
  expect((await check({ ...asked, playerId: listed.id })).reasons).toEqual(["dnc", "underage"]);
  expect((await check(asked)).reasons).toEqual([]);
  await fixture.run("update_player", { id: listed.id, status: "vip_hold" });
  expect((await check(asked)).reasons).toEqual(["shared_address"]);
});

test("of several players with one phone the most restricted one counts", async () => {
  const phone = "+12025551300";
  await consented({ phone });
  const held = await consented({ phone, status: "vip_hold", birth_date: "2015-01-01" });
  await consented({ phone });
  expect(await check({ phone })).toMatchObject({
    results: [{ player_id: held.id, reasons: ["underage", "vip_hold"] }],
  });
});

test("a check can be made for a later time", async () => {
  const player = await newPlayer(fixture);
  await fixture.run("consent_record", {
    playerId: player.id,
    channel: "sms",
    consentGiven: true,
    expiresAt: "2098-01-01T00:00:00Z",
  });
  expect((await check({ playerId: player.id })).allowed).toBe(true);
  expect((await check({ playerId: player.id, at: "2099-01-01T00:00:00Z" })).reasons).toEqual([
    "consent_expired",
    "no_consent",
  ]);
});

test("with email_consent_mode opt_out an email goes to everybody who has not refused", async () => {
  const lax = await openTwoProperties({ email_consent_mode: "opt_out" });
  const player = await newPlayer(lax);
  const ask = () => lax.run("compliance_check", { channel: "email", email: player.email });
  expect(await ask()).toMatchObject({ allowed: true });
  expect(await lax.run("compliance_check", { channel: "sms", phone: player.phone })).toMatchObject({
    allowed: false,
  });
  await lax.run("consent_record", { playerId: player.id, channel: "email", consentGiven: false });
  expect(await ask()).toMatchObject({ reasons: ["no_consent"] });
  await lax.close();
});

test("nobody to ask about, and too many, are refused", async () => {
  await expect(check({})).rejects.toMatchObject({ code: "invalid" });
  await expect(check({ phones: [] })).rejects.toMatchObject({ code: "invalid" });
  const most = Array.from({ length: 1000 }, (_, index) => `+1202555${String(index).padStart(4, "0")}`);
  expect((await check({ phones: most })).results.map((one) => one.phone)).toEqual(most);
  await expect(check({ phones: most, phone: "+12025550123" })).rejects.toMatchObject({ code: "invalid" });
});

test("of many the blocked alone are listed, or nobody, and the counts are those of all", async () => {
  const free = await consented({ phone: "+12025551301" });
  const barred = await newPlayer(fixture, { phone: "+12025551302" });
  const asleep = await consented({
    phone: "+12025551303",
    timezone: "America/New_York",
    country: "US",
    state: "NY",
  });
  await fixture.run("create_suppression", { channel: "sms", address: barred.phone });
  const hours = { channel: ["sms"], open_local: "08:00", close_local: "21:00" };
  await fixture.run("create_quiet_hours_rule", { country: "US", state: "NY", ...hours });
  const at = "2027-01-15T07:30:00Z";
  const playerIds = [free.id, barred.id, asleep.id];
  const whole = await check({ playerIds, at });
  const blocked = await check({ playerIds, at, only: "blocked" });
  const none = await check({ playerIds, at, only: "counts" });
  expect(whole.results).toHaveLength(3);
  expect(blocked.results).toEqual(
    [1, 2].map((position) => ({
      ...whole.results[position],
      position,
      checked_at: expect.any(String),
    })),
  );
  expect(none.results).toEqual([]);
  expect(whole).toMatchObject({
    counts: { checked: 3, allowed: 2, blocked: { no_consent: 1, suppressed: 1 } },
  });
  expect([blocked, none]).toMatchObject([{ counts: countsOf(whole) }, { counts: countsOf(whole) }]);
});

const countsOf = (answer: object) => (answer as { counts: object }).counts;
