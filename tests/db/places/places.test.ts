import { getCountries, getCountryCallingCode } from "libphonenumber-js/max";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { areaCodes, OVERLAYS } from "./area-codes.ts";
import { sameClock } from "./clocks.ts";

interface Place {
  code: string;
  region: string | null;
  zones: string[];
}

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const CODES = areaCodes();

/** Where the database sees players of whom it knows no more than a number, or a postal code in the United States. */
async function placesOf(given: { phone?: string; postal_code?: string }[]): Promise<Place[]> {
  return database.db.asSystem(
    (sql) => sql<Place[]>`
      select player_region(home, null, postal_code, phone) as region,
        player_zones(null, home, null, postal_code, phone) as zones
      from jsonb_to_recordset(${given as never}::jsonb) as l(phone text, postal_code text)
        cross join lateral (select case when phone is null then 'US' end as home) h`,
  );
}

test("an area code leads to the country, and to the state, that libphonenumber has for its numbers", async () => {
  const codes = Array.from({ length: 800 }, (_, index) => String(index + 200));
  const places = await placesOf(codes.map((code) => ({ phone: `+1${code}5552345` })));
  const wrong = codes.filter((code, index) => {
    const known = CODES.get(code);
    const isOneState = known?.states.length === 1;
    const territory = /^(PR|VI|GU|AS|MP)$/.test(known?.country ?? "");
    const region = territory
      ? `US-${known?.country}`
      : [known?.country, ...(isOneState ? known.states : [])].join("-");
    return places[index]!.region !== region;
  });
  expect(wrong).toEqual([]);
  expect(CODES.size).toBeGreaterThan(450);
});

test("each zone that libphonenumber has for an area code is kept, but for those that its state does not have", async () => {
  const codes = [...CODES.keys()];
  const places = await placesOf(codes.map((code) => ({ phone: `+1${code}5552345` })));
  const lost = codes.flatMap((code, index) =>
    CODES.get(code)!
      .zones.filter((zone) => !places[index]!.zones.some((kept) => sameClock(kept, zone)))
      .map((zone) => `${code} ${zone}`),
  );
  expect(lost).toEqual([
    // Saskatchewan's clocks stay as they are in summer, and 689 is laid over Orlando's 407.
    "474 America/Winnipeg",
    "689 America/Chicago",
    "709 America/Puerto_Rico",
    // The Yukon has a zone of its own.
    "867 America/Fort_Nelson",
    "867 America/Vancouver",
    "879 America/Puerto_Rico",
    "907 Pacific/Honolulu",
  ]);
  expect(places.filter(({ zones }) => zones.length === 0)).toEqual([]);
});

test("a code that is laid over an older one is where the older one is, in the same zones", async () => {
  const pairs = Object.entries(OVERLAYS);
  const newer = await placesOf(pairs.map(([code]) => ({ phone: `+1${code}5552345` })));
  const older = await placesOf(pairs.map(([, code]) => ({ phone: `+1${code}5552345` })));
  expect(newer).toEqual(older);
  // Once libphonenumber names its towns, a code needs no line in `OVERLAYS`.
  const named = pairs.filter(
    ([code, below]) => CODES.get(code) !== CODES.get(below) && CODES.get(code)!.towns[0],
  );
  // In all of British Columbia, of which libphonenumber names towns of the coast alone.
  expect(named.map(([code]) => code)).toEqual(["778"]);
});

test("a calling code leads to its country, with the zones of all countries that share it", async () => {
  const codes = [...new Set(getCountries().map((country) => getCountryCallingCode(country)))];
  const others = codes.filter((code) => code !== "1");
  const places = await placesOf(others.map((code) => ({ phone: `+${code}123456789` })));
  // libphonenumber's countries without an ISO code of their own: Kosovo and Ascension Island.
  expect(others.filter((_, index) => !places[index]!.region)).toEqual(["247", "383"]);
  const wrong = others.filter((code, index) => {
    const region = places[index]!.region;
    return region && String(getCountryCallingCode(region as "GB")) !== code;
  });
  expect(wrong).toEqual([]);
  const zones = (phone: string) => placesOf([{ phone }]).then(([place]) => place!.zones);
  expect(await zones("+77012345678")).toContain("Asia/Almaty");
  expect(await zones("+262639123456")).toEqual(["Indian/Mayotte", "Indian/Reunion"]);
});

test.each([
  // In Breckinridge County, Kentucky's Central time begins.
  ["40143", "US-KY", "America/Chicago America/New_York"],
  ["79830", "US-TX", "America/Chicago America/Denver"],
  ["99546", "US-AK", "America/Adak America/Anchorage"],
  ["86515", "US-AZ", "America/Denver America/Phoenix"],
  ["32501", "US-FL", "America/Chicago"],
  ["46601", "US-IN", "America/New_York"],
  ["89883", "US-NV", "America/Denver America/Los_Angeles"],
  ["00901", "US-PR", "America/Puerto_Rico"],
  ["96910", "US-GU", "Pacific/Guam"],
  ["10118", "US-NY", "America/New_York"],
  // The armed forces have their own.
  ["09012", "US", ""],
])("the postal code %s is in %s, in the zones %s", async (postal_code, region, zones) => {
  const [place] = await placesOf([{ postal_code }]);
  expect([place!.region, place!.zones.join(" ")]).toEqual([region, zones]);
});
