import { afterAll, beforeAll, expect, test } from "vitest";
import { parseQuery } from "#db/query/parse.ts";
import { QueryError } from "#db/query/readable-table.ts";
import { reader } from "#db/query/reader.ts";
import { testDatabase } from "../../support/database.ts";
import { everyCondition, holds, rendered } from "./filter-oracle.ts";
import { everyone, idOf, PROPERTY, players, readable, seedPlayers } from "./thirty-players.ts";

const database = await testDatabase();
beforeAll(() => seedPlayers(database.db));
afterAll(() => database.drop());

/** The names of the players that a query string finds, in order of name. */
async function found(query: string): Promise<string> {
  const parsed = parseQuery(readable, new URLSearchParams(`${query}&select=player_id&order=player_id`));
  const { body } = await reader(database.db).list(PROPERTY, readable, parsed);
  return JSON.parse(body)
    .map((player: { player_id: string }) => player.player_id)
    .join(" ");
}

const all = everyone.join(" ");
const except = (names: string) => everyone.filter((name) => !names.split(" ").includes(name)).join(" ");
const encoded = encodeURIComponent;

// The specification's form, PostgREST's form, and who is found.
const both: [string, string, string][] = [
  ["tier.eq=Gold", "tier=eq.Gold", "ann bob"],
  ["tier.eq=gold", "tier=eq.gold", "cid"],
  ["tier.eq=", "tier=eq.", "kim"],
  ["tier.eq=null", "tier=eq.null", "joe"],
  ["tier.eq=eq.Gold", "tier=eq.eq.Gold", "ned"],
  ["tier.eq=Gold, Club", "tier=eq.Gold, Club", "eve"],
  ['tier.eq=VIP "A"', 'tier=eq.VIP "A"', "fay"],
  ["tier.eq=100%25", "tier=eq.100%25", "gus"],
  ["tier.eq=Größe", "tier=eq.Größe", "hal"],
  ["tier.eq=日本🎰", "tier=eq.日本🎰", "sue"],
  ["tier.eq=back\\slash", "tier=eq.back\\slash", "ivy"],
  ["first_name.eq=O'Neil; drop table players", "first_name=eq.O'Neil; drop table players", "tom"],
  ["tier.neq=Gold", "tier=neq.Gold", "cid dee eve fay gus hal ivy joe kim lee mia ned ola sue"],
  ["tier.not.eq=Gold", "tier=not.eq.Gold", "cid dee eve fay gus hal ivy joe kim lee mia ned ola sue"],
  ["tier.not=Gold", "tier=not.eq.Gold", "cid dee eve fay gus hal ivy joe kim lee mia ned ola sue"],
  ["tier.not=null", "tier=not.is.null", "ann bob cid dee eve fay gus hal ivy joe kim lee mia ned ola sue"],
  ["tier.not=eq.Gold", "tier=not.eq.Gold", "cid dee eve fay gus hal ivy joe kim lee mia ned ola sue"],
  ["adt.gt=100", "adt=gt.100", "bob rex"],
  ["adt.gte=1e2", "adt=gte.1e2", "ann bob rex"],
  ["adt.lt=0", "adt=lt.0", "dee"],
  ["adt.lte=-0.0", "adt=lte.-0.0", "cid dee"],
  ["adt.not.lte=0", "adt=not.lte.0", "ann bob rex"],
  ["adt.gt=0&adt.lt=150", "adt=gt.0&adt=lt.150", "ann"],
  ["coin_in.eq=9007199254740991", "coin_in=eq.9007199254740991", "lee"],
  ["coin_in.lt=-0", "coin_in=lt.-0", "mia"],
  ["tier.like=G*", "tier=like.G*", "ann bob eve hal"],
  ["tier.like=G%25", "tier=like.G%25", "ann bob eve hal"],
  ["tier.ilike=g*d", "tier=ilike.g*d", "ann bob cid"],
  ["tier.ilike=größe", "tier=ilike.größe", "hal"],
  ["tier.like=a_b", "tier=like.a_b", "lee mia"],
  ["tier.like=a\\_b", "tier=like.a\\_b", "lee"],
  ["tier.like=*\\%25", "tier=like.*\\%25", "gus"],
  ["tier.like=*\\\\*", "tier=like.*\\\\*", "ivy"],
  ["tier.not.ilike=*o*", "tier=not.ilike.*o*", "dee fay gus hal ivy joe kim lee mia sue"],
  ["email.ilike=%25@example.com", "email=ilike.*@EXAMPLE.com", "ann bob"],
  ["email.ilike=eve%2B*", "email=ilike.eve%2B*", "eve"],
  ["tier.in=(Gold,Silver)", "tier=in.(Gold,Silver)", "ann bob dee"],
  ["tier.in=Gold,Silver", "tier=in.Gold,Silver", "ann bob dee"],
  ['tier.in=(gold, "Gold, Club" )', 'tier=in.(gold, "Gold, Club" )', "cid eve"],
  ['tier.in=("VIP \\"A\\"","back\\\\slash")', 'tier=in.("VIP \\"A\\"","back\\\\slash")', "fay ivy"],
  ['tier.in=(VIP "A",Gold)', 'tier=in.(VIP "A",Gold)', "ann bob fay"],
  ['tier.in=("")', 'tier=in.("")', "kim"],
  ['tier.in=("O(p)en",a_b)', 'tier=in.("O(p)en",a_b)', "lee ola"],
  ["tier.in=()", "tier=in.()", ""],
  [
    "tier.not.in=(Gold,gold,Silver)",
    "tier=not.in.(Gold,gold,Silver)",
    "eve fay gus hal ivy joe kim lee mia ned ola sue",
  ],
  ["adt.in=(100,-5)", "adt=in.(100,-5)", "ann dee"],
  [`id.in=(${idOf("ann")},${idOf("zoe")})`, `id=in.(${idOf("ann")},${idOf("zoe")})`, "ann zoe"],
  ["legal_hold.in=(true)", "legal_hold=in.(TRUE)", "pam"],
  ["adt.is=not_null", "adt=is.NOT_NULL", "ann bob cid dee rex"],
  ["adt.not.is=null", "adt=not.is.null", "ann bob cid dee rex"],
  ["adt.is=NULL", "adt=is.null", except("ann bob cid dee rex")],
  ["is_vip.is=true", "is_vip=is.TRUE", "ann cid pam"],
  ["is_vip.is=false", "is_vip=is.false", "dee"],
  ["is_vip.is=unknown", "is_vip=is.Unknown", except("ann cid dee pam")],
  ["is_vip.not.is=true", "is_vip=not.is.true", except("ann cid pam")],
  ["is_vip.eq=true", "is_vip=eq.True", "ann cid pam"],
  ["is_vip.neq=true", "is_vip=neq.true", "dee"],
  [`id.eq=${idOf("xen").toUpperCase()}`, `id=eq.${idOf("xen")}`, "xen"],
  [`id.gt=${idOf("yul")}`, `id=gt.${idOf("yul")}`, "zoe"],
  ["birth_date.lt=1990-05-02", "birth_date=lt.1990-05-02", "ann"],
  ["birth_date.eq=2000-02-29", "birth_date=eq.2000-02-29", "kim"],
  ["last_visit_at.gt=2026-03-01T12:00:00Z", "last_visit_at=gt.2026-03-01T12:00:00Z", "ivy"],
  ["last_visit_at.eq=2026-03-01 13:00%2B01", "last_visit_at=eq.2026-03-01T06:30-0530", "joe"],
  ["last_visit_at.eq=2026-03-01T12:00:00.123456+00:00", "last_visit_at=eq.2026-03-01T12:00:00.123456", "ivy"],
  ["last_visit_at.gte=2026-03-01", "last_visit_at=gte.2026-03-01", "ivy joe"],
  ["tags.cs={slots}", "tags=cs.{slots}", "ann bob"],
  ['tags.cs={"a,b","c\\"d","e\\\\f"}', 'tags=cs.{"a,b"}', "quy"],
  ["tags.ov={vip,slots}", "tags=ov.{slots,vip}", "ann bob cid"],
  ["tags.eq={vip}", "tags=eq.{vip}", "cid"],
  ["tags.not.cd={vip,slots}", "tags=not.cd.{vip,slots}", "quy"],
  ["custom.visits.eq=10", "custom->>visits=eq.10", "ann cid"],
  ["custom.visits.in=(9,10)", "custom->>visits=in.(9,10)", "ann bob cid"],
  ["custom.visits.gt=9", "custom->visits=gt.9", "ann"],
  ["custom.visits.gte=9", "custom->visits=gte.9.0", "ann bob"],
  ["custom.vip.is=true", "custom->>vip=is.TRUE", "ann cid pam"],
  ["custom.vip.is=false", "custom->vip=is.false", "dee"],
  ["custom.vip.not.is=true", "custom->vip=not.is.true", except("ann cid pam")],
  ["custom.vip.is=unknown", "custom->vip=is.unknown", except("ann cid dee pam")],
  ["custom.host.name.eq=Ray", "custom->host->>name=eq.Ray", "ann"],
  ["custom.host.name.not.eq=Bo", "custom->host->>name=not.eq.Bo", "ann"],
  ["custom.host.name.ilike=r*", "custom->host->>name=ilike.R%25", "ann"],
  ["custom.fav game.eq=Slots", "custom->>fav game=eq.Slots", "eve"],
  ["custom.list.1.eq=second", "custom->list->>1=eq.second", "fay"],
  ["custom.vip.is=null", "custom->>vip=is.null", except("ann cid dee pam")],
  ["custom.eq={}", "custom=eq.{}", except("ann bob cid dee eve fay pam")],
  [`custom.cs=${encoded('{"vip":true}')}`, `custom=cs.${encoded('{"vip":true}')}`, "ann cid pam"],
];

test.for(both)("%s and %s find the same players", async ([ours, postgrest, names]) => {
  expect(await found(ours)).toBe(names);
  expect(await found(postgrest)).toBe(names);
});

test("each operator on each column finds in both forms, and in a group, what a plain reading finds", async () => {
  const wrong: string[] = [];
  for (const condition of everyCondition) {
    const expected = players.filter((player) => holds(condition, player)).map(({ player_id }) => player_id);
    const group = { logic: "or" as const, not: false, members: [condition] };
    for (const filter of [condition, { ...condition, dotted: true }, group]) {
      const [key, value] = rendered(filter);
      const names = await found(new URLSearchParams([[key, value]]).toString());
      if (names !== expected.sort().join(" "))
        wrong.push(`${key}=${value}: ${names}, not ${expected.join(" ")}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(everyCondition.length).toBeGreaterThan(300);
});

test.for([
  ["or=(tier.eq.Gold,adt.lt.0)", "ann bob dee"],
  ['or=( tier.eq.Gold , adt.lt.0 , tier.eq. "a_b" )', "ann bob dee lee"],
  ["and=(tier.eq.Gold,adt.gt.100)", "bob"],
  [
    "not.or=(tier.not.is.null,adt.is.not_null,legal_hold.is.true)",
    "abe bea cal don quy tom uma vic wes xen yul zoe",
  ],
  [
    "not.and=(tier.eq.Gold,adt.gt.100)",
    except("bob rex pam quy tom uma vic wes xen yul zoe abe bea cal don"),
  ],
  ['or=(tier.in.(Gold,"Gold, Club"),and(adt.gte.0,not.or(adt.gt.50,tier.is.null)))', "ann bob cid eve"],
  ['or=(tier.eq."Gold, Club",tier.eq."VIP \\"A\\"",tier.eq."O(p)en")', "eve fay ola"],
  ['or=(tags.cs.{slots},tags.cs.{"a,b"},custom.cs.{"vip":true,"visits":10})', "ann bob quy"],
  ['or=(custom.host.name.eq.Ray,custom->>visits.eq.9,custom.cs."{\\"vip\\":false}")', "ann bob dee"],
  ["or=(tier.eq.,tier.eq.null)", "joe kim"],
  ["or=(adt.eq.100,adt.eq.0)&or=(tier.eq.Gold,tier.eq.Silver)", "ann"],
  ["tier=eq.Gold&tier.neq=Gold", ""],
  ["property_id.neq=01900000-0000-7000-8000-00000000000a", ""],
  ["or=(property_id.neq.01900000-0000-7000-8000-00000000000a,property_id.is.not_null)", all],
] as const)("%s finds %s", async ([query, names]) => {
  expect(await found(query)).toBe(names);
});

const deep = (depth: number) => `or=(${"or(".repeat(depth - 1)}adt.eq.1${")".repeat(depth)}`;
const many = (count: number) => Array.from({ length: count }, () => "adt.gt=1").join("&");
const list = (count: number) => `adt=in.(${Array.from({ length: count }, (_, index) => index).join(",")})`;

test.for([deep(8), many(100), list(1000)])("a query as large as allowed is answered", async (query) => {
  await expect(found(query)).resolves.toBeTypeOf("string");
});

// The query, the key that is blamed, and a word of why.
const refused: [string, string, RegExp][] = [
  ["shoe.eq=1", "shoe.eq", /^unknown column "shoe"; there are id, .*\btier\b/],
  ["tierr.eq=1", "tierr.eq", /^unknown column "tierr"; did you mean tier\?$/],
  ["shoe=eq.1", "shoe", /unknown column "shoe"/],
  ["=1", "", /unknown column/],
  ...["__proto__", "constructor", "toString", "hasOwnProperty"].flatMap(
    (name): [string, string, RegExp][] => [
      [`${name}.eq=1`, `${name}.eq`, /unknown column/],
      [`${name}=eq.1`, name, /unknown column/],
      [`order=${name}`, "order", /unknown column/],
      [`select=${name}`, "select", /unknown column/],
      [`tier.${name}=1`, `tier.${name}`, /unknown operator/],
      [`tier.is=${name}`, "tier.is", /is takes/],
    ],
  ),
  ["tier=Gold", "tier", /tier.eq=gold/],
  ["tier=eq", "tier", /tier.eq=gold/],
  ["tier.neq.Gold", "tier.neq.Gold", /the value follows "=", such as tier.neq=Gold/],
  ["tier.neq.Gold=", "tier.neq.Gold", /"Gold" stands behind the operator/],
  ["tier.eq.Gold=true", "tier.eq.Gold", /behind the operator/],
  ["tier.not.eq.Gold=", "tier.not.eq.Gold", /such as tier.not.eq=Gold/],
  ["tier.in.(a,b)=", "tier.in.(a,b)", /behind the operator/],
  ["custom.vip.eq.true=", "custom.vip.eq.true", /behind the operator/],
  ["custom=vip.eq.true", "custom", /unknown operator "vip"/],
  ["tier.equals=Gold", "tier.equals", /unknown operator "equals"/],
  ["tier.EQ=Gold", "tier.EQ", /unknown operator/],
  ["tier.not.not.eq=Gold", "tier.not.not.eq", /unknown operator "not"/],
  ["tier.not=(Gold,Silver)", "tier.not", /operator/],
  ["tier.not=ilke.*old", "tier.not", /operator/],
  ["tier.not=", "tier.not", /operator/],
  ["tier=not.Gold", "tier", /operator/],
  ["tier->>a=eq.1", "tier->>a", /no path/],
  ["custom->>a->>b=eq.1", "custom->>a->>b", /no path/],
  ["custom->>=eq.1", "custom->>", /JSON path/],
  ["custom..eq=1", "custom..eq", /JSON path/],
  [`custom.${"a.".repeat(9)}eq=1`, `custom.${"a.".repeat(9)}eq`, /JSON path/],
  ["custom.eq=gold", "custom.eq", /not JSON/],
  ["custom->a=eq.1e999", "custom->a", /not JSON/],
  ['custom->a=eq."%5Cu0000"', "custom->a", /not JSON/],
  ['custom->a=eq."%5Cud800"', "custom->a", /not JSON/],
  [`custom=cs.${"[".repeat(70)}${"]".repeat(70)}`, "custom", /not JSON/],
  ["custom.like=a", "custom.like", /does not fit/],
  ["adt.like=1*", "adt.like", /does not fit adt/],
  ["tags.ilike=a", "tags.ilike", /does not fit/],
  ["tags.cs=slots", "tags.cs", /not a list/],
  ["tags.cs={a", "tags.cs", /no closing/],
  ["tags.cs={a}b", "tags.cs", /after the list/],
  ["tier.cs={a}", "tier.cs", /does not fit/],
  ["tier.like=a\\", "tier.like", /backslash/],
  ["tier.in=", "tier.in", /takes a list/],
  ["tier.in=(a", "tier.in", /no closing/],
  ["tier.in=(a)b", "tier.in", /after the list/],
  [list(1001), "adt", /1000 values/],
  ["adt.in=(1,two)", "adt.in", /"two" is not a finite number/],
  ["adt.in=(1,)", "adt.in", /"" is not a finite number/],
  ["tier.is=gold", "tier.is", /is takes/],
  ["tier.is=true", "tier.is", /boolean column only/],
  ...["", "x", "NaN", "Infinity", "1e999", "0x10", "1_0", "1,5", "--1"].map(
    (value): [string, string, RegExp] => [`adt.eq=${value}`, "adt.eq", /finite number/],
  ),
  ...["", "1.5", "9223372036854775808", "-9223372036854775809", "1e3"].map(
    (value): [string, string, RegExp] => [`coin_in.eq=${value}`, "coin_in.eq", /64-bit integer/],
  ),
  ...["", "yes", "1", "t"].map((value): [string, string, RegExp] => [
    `is_vip.eq=${value}`,
    "is_vip.eq",
    /true or false/,
  ]),
  ...["", "ann", "{01900000-0000-7000-8000-00000000000a}"].map((value): [string, string, RegExp] => [
    `id.eq=${value}`,
    "id.eq",
    /a uuid/,
  ]),
  ...["", "2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "0000-01-01", "10000-01-01", "today"].flatMap(
    (value): [string, string, RegExp][] => [
      [`birth_date.eq=${value}`, "birth_date.eq", /a date/],
      [`created_at.eq=${value}`, "created_at.eq", /ISO 8601/],
    ],
  ),
  ...["24:00", "23:60", "23:59:60", "12", "12:00+16:00", "12:00+00:60", "12:00 EST"].map(
    (time): [string, string, RegExp] => [`created_at.eq=2026-01-01T${time}`, "created_at.eq", /ISO 8601/],
  ),
  ["tier.eq=a%00b", "tier.eq", /NUL/],
  ["a%00b=1", "a?b", /NUL/],
  ["or=()", "or", /unknown column/],
  ["or=tier.eq.Gold", "or", /parentheses/],
  ["or=(tier.eq.Gold", "or", /no closing/],
  ["or=(tier.eq.Gold))", "or", /after the closing/],
  ["or=(tier.eq.Gold,)", "or", /unknown column/],
  ["or=(shoe.eq.1)", "or", /unknown column "shoe"/],
  ["or=(adt.eq.x)", "or", /finite number/],
  ["or=(tier.in.Gold)", "or", /takes a list/],
  ["not.xor=(tier.eq.Gold)", "not.xor", /unknown column/],
  [deep(9), "or", /8 deep/],
  [many(101), "filters", /100 conditions/],
  ["select=id,shoe", "select", /unknown column "shoe"/],
  ["select=", "select", /unknown column/],
  ["select=id&select=tier", "select", /twice/],
  ["order=shoe", "order", /unknown column "shoe"/],
  ["order=", "order", /unknown column/],
  ["order=adt.up", "order", /unknown direction "up"/],
  ["order=adt.desc.nulls", "order", /unknown direction/],
  ["order=adt,tier,adt.desc", "order", /named twice/],
  ["order=custom", "order", /no order/],
  ["order=adt&order=tier", "order", /twice/],
  ...["", "-1", "1.5", "1001", "ten", "1e2", " 1", "99999999999"].map((value): [string, string, RegExp] => [
    `limit=${value}`,
    "limit",
    /0 to 1000/,
  ]),
  ...["", "-1", "2147483648", "x"].map((value): [string, string, RegExp] => [
    `offset=${value}`,
    "offset",
    /0 to 2147483647/,
  ]),
  ["limit=1&limit=1", "limit", /twice/],
  ["offset=0&cursor=", "cursor", /not both/],
];

test.for(refused)("%s is refused, blaming %s", ([query, field, reason]) => {
  const refusal = refusalOf(new URLSearchParams(query));
  expect(refusal).toMatchObject({ field, message: expect.stringMatching(reason) });
});

test("half a surrogate pair is refused as a value and as a key", () => {
  expect(refusalOf([["tier.eq", "\ud83c"]])).toMatchObject({ field: "tier.eq" });
  expect(refusalOf([["tier\ud83c", "eq.Gold"]])).toMatchObject({ message: expect.stringMatching(/Unicode/) });
});

function refusalOf(pairs: Iterable<[string, string]>): QueryError | undefined {
  try {
    parseQuery(readable, pairs);
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
  return undefined;
}
