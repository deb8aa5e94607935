import { afterAll, beforeAll, expect, test } from "vitest";
import { raw } from "#db/sql.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import { hoursCtes, nextOpening } from "#tools/compliance/hours.ts";
import { isFull } from "../../support/proof-size.ts";
import { isOpen, type OracleRule, type Whereabouts, wallClock } from "./oracles/hours.ts";
import { newPlayer, openTwoProperties, type TwoProperties } from "./scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
  await fixture.sql((sql) => sql`select seed_sending_rules(${fixture.property.id})`);
});
afterAll(() => fixture.close());

const HALF_HOUR = 1_800_000;
const DAY = 86_400_000;
const every = [0, 1, 2, 3, 4, 5, 6];
const rule = (state: string | null, open: string, close: string, days = every): OracleRule => ({
  country: "US",
  state,
  days,
  open,
  close,
});
/** The rules of contract and law, written down a second time. */
const SEEDS: OracleRule[] = [
  { country: null, state: null, days: every, open: "08:00", close: "21:00" },
  rule(null, "08:00", "21:00"),
  ...["FL", "OK", "MD", "NJ"].map((state) => rule(state, "08:00", "20:00")),
  rule("MS", "08:00", "20:00", [1, 2, 3, 4, 5, 6]),
  rule("CT", "09:00", "20:00"),
  rule("TX", "09:00", "21:00", [1, 2, 3, 4, 5, 6]),
  rule("TX", "12:00", "21:00", [0]),
  rule("RI", "09:00", "18:00", [1, 2, 3, 4, 5]),
  rule("RI", "10:00", "17:00", [0, 6]),
];

const locationHeader = (region: string, ...zones: string[]): Whereabouts & { region: string } => {
  const [country, state] = region.split("-");
  return { region, zones, country: country!, state: state ?? "" };
};
const PLACES = [
  locationHeader("US-NV", "America/Los_Angeles"),
  locationHeader("US-NV", "America/Denver", "America/Los_Angeles"),
  locationHeader("US-FL", "America/New_York"),
  locationHeader("US-FL", "America/Chicago", "America/New_York"),
  locationHeader("US-OK", "America/Chicago"),
  locationHeader("US-MD", "America/New_York"),
  locationHeader("US-MS", "America/Chicago"),
  locationHeader("US-NJ", "America/New_York"),
  locationHeader("US-CT", "America/New_York"),
  locationHeader("US-TX", "America/Chicago", "America/Denver"),
  locationHeader("US-RI", "America/New_York"),
  // Arizona keeps no daylight time, and the Navajo Nation in it does.
  locationHeader("US-AZ", "America/Denver", "America/Phoenix"),
  locationHeader("US-HI", "Pacific/Honolulu"),
  locationHeader("US", "America/New_York"),
  locationHeader("GB", "Europe/London"),
  locationHeader("AU-NSW", "Australia/Sydney", "Australia/Perth"),
  locationHeader("IN", "Asia/Kolkata"),
];

interface Grid {
  open: boolean[];
  next: (number | null)[];
}

/** The answers of the SQL about places at `count` moments from `from` on, `step` apart. */
async function grid(
  places: Whereabouts[],
  from: number,
  count: number,
  step: number,
  channel: Channel = "sms",
) {
  const at = new Date(from).toISOString();
  const listed = places.map((one) => ({
    zones: one.zones,
    region: one.state ? `${one.country}-${one.state}` : one.country,
  }));
  return fixture.sql(async (sql) => {
    const hours = hoursCtes({ property: fixture.property, channel, at }, "place");
    return sql<Grid[]>`
      with place as materialized (
        select ordinality as place, array(select jsonb_array_elements_text(p -> 'zones')) as zones, p ->> 'region' as region
        from jsonb_array_elements(${listed as never}::jsonb) with ordinality as l(p, ordinality)
      ), ${hours}
      select array_agg(coalesce(h.open @> m.at, true) order by m.at) as open,
        array_agg(extract(epoch from n.next)::double precision order by m.at) as next
      from place p left join hours h using (zones, region)
        cross join (select ${at}::timestamptz + n * make_interval(secs => ${step / 1000}) as at
          from generate_series(0, ${count - 1}) n) m
        cross join lateral (select ${nextOpening(raw("h.open"), raw("m.at"))} as next) n
      group by p.place order by p.place`;
  });
}

const WEEK = 7 * DAY;

/** All weeks, or one in four and each in which a place changes its time. */
const isCompared = (from: number) =>
  isFull ||
  (from / WEEK) % 4 < 1 ||
  PLACES.some(({ zones }) =>
    zones.some((zone) => wallClock(zone, from).time !== wallClock(zone, from + WEEK).time),
  );

test("every seed rule opens and closes on each of 366 days as a plain reading of it says, in all zones of the place", async () => {
  const week = WEEK / HALF_HOUR;
  let compared = 0;
  const wrong: string[] = [];
  // From June to June: both changes of daylight time, north and south.
  for (
    let from = Date.parse("2027-06-01T00:00:00Z");
    from < Date.parse("2028-06-02T00:00:00Z");
    from += WEEK
  ) {
    if (!isCompared(from)) continue;
    const rows = await grid(PLACES, from, week, HALF_HOUR);
    PLACES.forEach((one, index) => {
      let next: number | null = null;
      for (let slot = week + 48 - 1; slot >= 0; slot--) {
        const at = from + slot * HALF_HOUR;
        const open = isOpen(SEEDS, one, at);
        if (open) next = at;
        if (slot >= week) continue;
        compared++;
        const told = rows[index]!.next[slot];
        if (rows[index]!.open[slot] === open && told === next! / 1000) continue;
        wrong.push(`${one.region} ${one.zones} at ${new Date(at).toISOString()}`);
      }
    });
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(isFull ? 300_000 : 90_000);
});

test("in the hour that daylight time skips or repeats nobody is written to who is asleep by either reading", async () => {
  await fixture.sql(
    (sql) => sql`
    insert into quiet_hours_rules (property_id, country, state, channel, open_local, close_local)
    values (${fixture.property.id}, 'US', 'NY', '{push}', '00:30', '01:30'),
      (${fixture.property.id}, 'US', 'WA', '{push}', '01:30', '02:30'),
      (${fixture.property.id}, 'AU', 'LH', '{push}', '01:15', '01:45')`,
  );
  const rules: OracleRule[] = [
    rule("NY", "00:30", "01:30"),
    rule("WA", "01:30", "02:30"),
    { ...rule("LH", "01:15", "01:45"), country: "AU" },
  ];
  const places = [
    locationHeader("US-NY", "America/New_York"),
    locationHeader("US-WA", "America/New_York"),
    locationHeader("AU-LH", "Australia/Lord_Howe"),
  ];
  const MINUTE = 60_000;
  const changes = ["2027-03-14T00:00Z", "2027-11-07T00:00Z", "2027-04-03T06:00Z", "2027-10-02T06:00Z"];
  for (const change of changes) {
    const from = Date.parse(change);
    const rows = await grid(places, from, 1440, MINUTE, "push");
    places.forEach((one, index) => {
      const said = rows[index]!.open;
      const may = said.map((_, slot) => isOpen(rules, one, from + slot * MINUTE));
      expect(said.filter((open, slot) => open && !may[slot])).toEqual([]);
      // And it is at most the hour itself that is lost.
      expect(may.filter((open, slot) => open && !said[slot]).length).toBeLessThanOrEqual(60);
    });
  }
});

test("a newer rule takes over on its day, and a day that no rule names is closed", async () => {
  const rules: OracleRule[] = [
    { ...rule("GA", "10:00", "18:00"), days: [1, 2, 3, 4, 5, 6] },
    { ...rule("GA", "11:00", "12:00"), since: "2027-07-07" },
    { ...rule("GA", "13:00", "14:00"), since: "2027-07-07", days: [0, 3] },
  ];
  for (const { state, days, open, close, since } of rules) {
    await fixture.run("create_quiet_hours_rule", {
      country: "US",
      state,
      channel: ["email"],
      days,
      open_local: open,
      close_local: close,
      effective_from: since ?? null,
    });
  }
  const from = Date.parse("2027-07-03T00:00:00Z");
  const georgia = locationHeader("US-GA", "America/New_York");
  const [row] = await grid([georgia], from, 8 * 48, HALF_HOUR, "email");
  expect(row!.open).toEqual(row!.open.map((_, slot) => isOpen(rules, georgia, from + slot * HALF_HOUR)));
  expect(row!.open.filter(Boolean).length).toBeGreaterThan(20);
});

test("a country with a rule of its own is not held to the rule for everywhere, and a state's rule frees no other", async () => {
  const early = { channel: ["sms"], open_local: "06:00", close_local: "23:00" };
  await fixture.run("create_quiet_hours_rule", { ...early, country: "DE" });
  await fixture.run("create_quiet_hours_rule", { ...early, country: "AT", state: "9" });
  const berlin = locationHeader("DE-BE", "Europe/Berlin");
  const [vienna, graz] = [locationHeader("AT-9", "Europe/Vienna"), locationHeader("AT-6", "Europe/Vienna")];
  // 06:30 and 08:30 of a summer's day.
  const rows = await grid(
    [berlin, vienna, graz],
    Date.parse("2027-07-06T04:30:00Z"),
    2,
    4 * HALF_HOUR,
    "sms",
  );
  expect(rows.map(({ open }) => open)).toEqual([
    [true, true],
    [true, true],
    [false, true],
  ]);
});

test("of several rules that close a place, one that skips is enough", async () => {
  const both = [
    ["KS", "09:00", "10:00", "defer"],
    ["KS", "11:00", "12:00", "skip"],
    ["NE", "09:00", "10:00", "defer"],
    ["NE", "11:00", "12:00", "defer"],
    ["IA", "09:00", "12:00", "skip"],
  ] as const;
  for (const [state, open_local, close_local, action] of both) {
    await fixture.run("create_quiet_hours_rule", {
      ...{ country: "US", state, channel: ["email"], open_local, close_local, action },
    });
  }
  const skips = (at: string) =>
    fixture.sql(async (sql) => {
      const hours = hoursCtes({ property: fixture.property, channel: "email", at }, "place");
      const rows = await sql<{ region: string; is_open: boolean; skips: boolean }[]>`
        with place as materialized (
          select array['America/Chicago'] as zones, 'US-' || s as region from unnest(array['IA', 'KS', 'NE']) s
        ), ${hours}
        select region, is_open, skips from hours order by region`;
      return rows.map(({ region, is_open, skips: does }) => `${region} ${is_open} ${does}`);
    });
  // Noon in Chicago is 17:00 in July: 07:00, 09:30, 10:30, 11:30.
  expect(await skips("2027-07-06T12:00:00Z")).toEqual([
    "US-IA false true",
    "US-KS false true",
    "US-NE false false",
  ]);
  expect(await skips("2027-07-06T14:30:00Z")).toEqual([
    "US-IA true false",
    "US-KS true false",
    "US-NE true false",
  ]);
  expect(await skips("2027-07-06T15:30:00Z")).toEqual([
    "US-IA true false",
    "US-KS false true",
    "US-NE false false",
  ]);
});

test.each([
  // The given fields, the zones, the region.
  [{ timezone: "Asia/Tokyo", state: "FL", phone: "+13055550100" }, "Asia/Tokyo", "US-FL"],
  [{ state: "NV", phone: null }, "America/Denver America/Los_Angeles", "US-NV"],
  [{ state: "nevada", postal_code: "89109" }, "America/Los_Angeles", "US-NV"],
  [{ state: "US-NJ" }, "America/New_York", "US-NJ"],
  [{ country: "US", postal_code: "32501-1234", phone: null }, "America/Chicago", "US-FL"],
  [{ country: "US", postal_code: "33101" }, "America/New_York", "US-FL"],
  [
    { country: "US", state: "TX", postal_code: "33101" },
    "America/Chicago America/Denver America/New_York",
    "US-TX",
  ],
  [{ phone: "+18505550100" }, "America/Chicago America/New_York", "US-FL"],
  [{ phone: "+17025550100" }, "America/Los_Angeles", "US-NV"],
  [{ phone: "+12085550100" }, "America/Denver America/Los_Angeles", "US-ID"],
  [{ phone: "+17875550100" }, "America/Puerto_Rico", "US-PR"],
  [{ phone: "+14165550100" }, "America/Toronto", "CA-ON"],
  [{ country: "CA", postal_code: "V5K 0A1" }, "America/Creston America/Edmonton America/Vancouver", "CA-BC"],
  [{ phone: "+18765550100" }, "America/Jamaica", "JM"],
  // Toll-free numbers are nowhere.
  [{ phone: "+18005550100" }, "", ""],
  [{ country: "US", phone: "+18005550100" }, "", "US"],
  [{ country: "US", state: "nowhere", phone: "+13055550100" }, "America/New_York", "US-FL"],
  [{ phone: "+442079460000" }, "Europe/London", "GB"],
  [{ country: "DE", state: "BY", postal_code: "89109", phone: "+4930123456" }, "Europe/Berlin", "DE-BY"],
  [{ country: "AU", state: "WA", phone: null, timezone: "Australia/Perth" }, "Australia/Perth", "AU-WA"],
  [{ phone: null }, "", ""],
])("a player with %o may be in %j, by the rules of %j", async (given, zones, region) => {
  const { state = null, ...fields }: { state?: string | null } & object = given;
  const { id } = await newPlayer(fixture, { phone: null, ...fields });
  // An imported state can be any text.
  await fixture.sql(
    (sql) => sql`
      update players set state = ${state} where property_id = ${fixture.property.id} and id = ${id}`,
  );
  const [row] = await fixture.sql(
    (sql) => sql<{ zones: string[]; region: string }[]>`
      select zones, region from players where property_id = ${fixture.property.id} and id = ${id}`,
  );
  expect([row!.zones.join(" "), row!.region]).toEqual([zones, region]);
});

test("the zones follow the player's record", async () => {
  const { id } = await newPlayer(fixture, { phone: "+17025550100" });
  const zones = async () => {
    const [row] = await fixture.sql(
      (sql) => sql<{ zones: string[] }[]>`
        select zones from players where property_id = ${fixture.property.id} and id = ${id}`,
    );
    return row!.zones;
  };
  expect(await zones()).toEqual(["America/Los_Angeles"]);
  await fixture.run("update_player", { id, phone: "+12125550100" });
  expect(await zones()).toEqual(["America/New_York"]);
  await fixture.run("update_player", { id, timezone: "America/Denver" });
  expect(await zones()).toEqual(["America/Denver"]);
});

test("this server knows every zone that a number, a state or a country leads to", async () => {
  const rows = await fixture.sql(
    (sql) => sql<{ zone: string }[]>`
      with texts as (
        select prosrc from pg_proc where proname in (
          'area_code_zones', 'region_zones', 'postal_zones', 'country_zones', 'calling_zones')
      ), named as (
        select distinct m[1] as zone from texts, regexp_matches(prosrc, '([A-Z][A-Za-z]+/[A-Za-z_/-]+)', 'g') m
      )
      select zone from named where known_zone(zone, 'none') = 'none' or zone not in (select name from pg_timezone_names)`,
  );
  expect(rows).toEqual([]);
});

interface Checked {
  allowed: boolean;
  reasons: string[];
  defer?: { reasons: string[]; retry_at: string | null };
  results: { allowed: boolean; defer_reasons?: string[]; retry_at?: string | null }[];
}
const check = (input: object) => fixture.run<Checked>("compliance_check", { channel: "sms", ...input });
const consented = async (input: object) => {
  const player = await newPlayer(fixture, input);
  for (const channel of ["sms", "email"]) {
    await fixture.run("consent_record", { playerId: player.id, channel, consentGiven: true });
  }
  return player;
};

test("a check at night is allowed, and says from when on the message may go", async () => {
  const player = await consented({ phone: "+13055550111" });
  // 20:00 in Miami on Halloween; that night the clocks go back.
  expect(await check({ phone: player.phone, at: "2026-11-01T00:00:00Z" })).toMatchObject({
    allowed: true,
    reasons: [],
    defer: { reasons: ["quiet_hours"], retry_at: "2026-11-01T13:00:00+00:00" },
    results: [{ allowed: true, defer_reasons: ["quiet_hours"], retry_at: "2026-11-01T13:00:00+00:00" }],
  });
  const before = await check({ phone: player.phone, at: "2026-10-31T23:59:59Z" });
  expect(before.defer).toBeUndefined();
  expect(before.results[0]).not.toHaveProperty("retry_at");
  expect(
    (await check({ phone: player.phone, channel: "email", at: "2026-11-01T05:00:00Z" })).defer,
  ).toBeUndefined();
});

test("a message that a rule drops does not wait, and the check says so", async () => {
  const text = { state: "KY", country: "US" };
  const kentucky = await consented({ ...text, phone: "+15025550113", timezone: "America/New_York" });
  const florida = await consented({ phone: "+13055550114" });
  await fixture.run("create_quiet_hours_rule", {
    ...{
      country: "US",
      state: "KY",
      channel: ["sms"],
      open_local: "10:00",
      close_local: "18:00",
      action: "skip",
    },
  });
  const retry_at = "2027-07-02T14:00:00+00:00";
  // 20:30 in both places.
  const at = "2027-07-02T00:30:00Z";
  const checked = await check({ playerIds: [kentucky.id, florida.id], at });
  expect(checked).toMatchObject({
    allowed: true,
    defer: { reasons: ["quiet_hours"], retry_at, dropped: true },
    counts: { allowed: 2, waiting: 1, dropped: 1 },
    results: [{ allowed: true, defer_reasons: ["quiet_hours"], retry_at, dropped: true }, { allowed: true }],
  });
  expect(checked.results[1]).not.toHaveProperty("dropped");
  const alone = await check({ playerId: florida.id, at });
  expect(alone).toMatchObject({ counts: { waiting: 1, dropped: 0 } });
  expect(alone.defer).not.toHaveProperty("dropped");
});

test("in a bulk check each result has its own time, and all of them the latest", async () => {
  const florida = await consented({ phone: "+13055550112" });
  const nevada = await consented({ phone: "+17025550112" });
  const checked = await check({
    phones: [florida.phone, nevada.phone, "+18505550112"],
    at: "2027-07-01T11:30:00Z",
  });
  expect(checked.results.map((one) => one.retry_at)).toEqual([
    "2027-07-01T12:00:00+00:00",
    "2027-07-01T15:00:00+00:00",
    "2027-07-01T13:00:00+00:00",
  ]);
  expect(checked.defer).toEqual({ reasons: ["quiet_hours"], retry_at: "2027-07-01T15:00:00+00:00" });
  expect(checked.results.map((one) => one.allowed)).toEqual([true, true, false]);
});

test("a player with neither zone nor place nor phone is where the property is", async () => {
  const player = await newPlayer(fixture, { phone: null });
  const asked = { playerId: player.id, channel: "voice", at: "2027-07-01T11:30:00Z" };
  expect((await check(asked)).defer).toEqual({
    reasons: ["quiet_hours"],
    retry_at: "2027-07-01T12:00:00+00:00",
  });
});

test("a zone that this server does not know counts as the property's, and breaks nothing", async () => {
  const [row] = await grid(
    [locationHeader("US", "Mars/Olympus_Mons"), locationHeader("US", "America/New_York")],
    Date.parse("2027-07-01T00:00:00Z"),
    48,
    HALF_HOUR,
  ).then(([mars, york]) => [{ mars, york }]);
  expect(row!.mars).toEqual(row!.york);
});

test("the rules are the operator's to change, and another property's do not matter", async () => {
  const player = await consented({ phone: "+14055550113" });
  const asked = { phone: player.phone, at: "2027-07-01T17:00:00Z" };
  await fixture.run(
    "create_quiet_hours_rule",
    { country: "US", state: "OK", open_local: "00:00", close_local: "00:01" },
    { in: fixture.rival },
  );
  expect((await check(asked)).defer).toBeUndefined();
  const { id } = await fixture.run("create_quiet_hours_rule", {
    country: "US",
    state: "OK",
    open_local: "09:00",
    close_local: "12:00",
    effective_from: "2027-01-01",
  });
  expect((await check(asked)).defer?.retry_at).toBe("2027-07-02T14:00:00+00:00");
  await fixture.run("delete_quiet_hours_rule", { id });
  expect((await check(asked)).defer).toBeUndefined();
});

test("the first rule of a place leaves the days before it open", async () => {
  const begun = { channel: ["push"], effective_from: "2027-07-03" };
  await fixture.run("create_quiet_hours_rule", {
    ...begun,
    country: "NZ",
    open_local: "09:00",
    close_local: "10:00",
  });
  const isOpenAt = (at: string) =>
    fixture.sql(async (sql) => {
      const hours = hoursCtes({ property: fixture.property, channel: "push", at }, "place");
      const [row] = await sql<{ is_open: boolean }[]>`
        with place as materialized (select array['Pacific/Auckland'] as zones, 'NZ-' as region), ${hours}
        select is_open from hours`;
      return row?.is_open;
    });
  // Auckland is twelve hours ahead in July.
  expect(await isOpenAt("2027-07-02T11:59:00Z")).toBe(true);
  expect(await isOpenAt("2027-07-02T12:00:00Z")).toBe(false);
  expect(await isOpenAt("2027-07-02T21:30:00Z")).toBe(true);
  expect(await isOpenAt("2027-07-02T22:00:00Z")).toBe(false);
});

test.each([
  { open_local: "21:00", close_local: "08:00" },
  { open_local: "08:00", close_local: "08:00" },
  { open_local: "8:00" },
  { close_local: "25:00" },
  { days: [] },
  { days: [7] },
  { channel: [] },
  { country: null, state: "FL" },
  { country: "USA" },
  { action: "call" },
])("the quiet hours %o are refused", async (input) => {
  const hours = { country: "US", open_local: "08:00", close_local: "21:00", ...input };
  await expect(fixture.run("create_quiet_hours_rule", hours)).rejects.toMatchObject({
    code: "invalid",
  });
});
