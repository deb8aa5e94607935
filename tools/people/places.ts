import { isSupportedCountry } from "libphonenumber-js/min";
import type { Form } from "#db/query/readable-table.ts";

/** The columns by which a player's quiet hours go. */
export const PLACES = ["timezone", "country", "state", "postal_code"] as const;

/** The states of the countries whose hours differ by state: by code, as `player_region` of the database knows them. */
const STATES = {
  US: {
    AL: "Alabama",
    AK: "Alaska",
    AZ: "Arizona",
    AR: "Arkansas",
    CA: "California",
    CO: "Colorado",
    CT: "Connecticut",
    DE: "Delaware",
    DC: "District of Columbia",
    FL: "Florida",
    GA: "Georgia",
    HI: "Hawaii",
    ID: "Idaho",
    IL: "Illinois",
    IN: "Indiana",
    IA: "Iowa",
    KS: "Kansas",
    KY: "Kentucky",
    LA: "Louisiana",
    ME: "Maine",
    MD: "Maryland",
    MA: "Massachusetts",
    MI: "Michigan",
    MN: "Minnesota",
    MS: "Mississippi",
    MO: "Missouri",
    MT: "Montana",
    NE: "Nebraska",
    NV: "Nevada",
    NH: "New Hampshire",
    NJ: "New Jersey",
    NM: "New Mexico",
    NY: "New York",
    NC: "North Carolina",
    ND: "North Dakota",
    OH: "Ohio",
    OK: "Oklahoma",
    OR: "Oregon",
    PA: "Pennsylvania",
    RI: "Rhode Island",
    SC: "South Carolina",
    SD: "South Dakota",
    TN: "Tennessee",
    TX: "Texas",
    UT: "Utah",
    VT: "Vermont",
    VA: "Virginia",
    WA: "Washington",
    WV: "West Virginia",
    WI: "Wisconsin",
    WY: "Wyoming",
    PR: "Puerto Rico",
    VI: "Virgin Islands",
    GU: "Guam",
    AS: "American Samoa",
    MP: "Northern Mariana Islands",
  },
  CA: {
    AB: "Alberta",
    BC: "British Columbia",
    MB: "Manitoba",
    NB: "New Brunswick",
    NL: "Newfoundland and Labrador",
    NS: "Nova Scotia",
    PE: "Prince Edward Island",
    ON: "Ontario",
    QC: "Quebec",
    SK: "Saskatchewan",
    YT: "Yukon",
    NT: "Northwest Territories",
    NU: "Nunavut",
  },
} as const;

const ALSO: Readonly<Record<string, string>> = {
  "D.C.": "DC",
  "WASHINGTON, D.C.": "DC",
  "WASHINGTON DC": "DC",
  QUÉBEC: "QC",
  "YUKON TERRITORY": "YT",
  PQ: "QC",
  NF: "NL",
};

const CODES = Object.entries(STATES).map(([country, states]) => {
  const names = Object.entries(states).flatMap(([code, name]): [string, string][] => [
    [code, code],
    [name.toUpperCase(), code],
  ]);
  return [country, new Map(names)] as const;
});

/** Nobody dials there, so the numbers' own list leaves them out. */
const WITHOUT_PHONES = new Set(["AQ", "BV", "GS", "HM", "PN", "TF", "UM"]);

/** Whether it is an ISO 3166 code of a country, in any case. */
export function isCountry(text: string): boolean {
  const code = text.toUpperCase();
  return /^[A-Z]{2}$/.test(code) && (isSupportedCountry(code) || WITHOUT_PHONES.has(code));
}

/**
 * A state as it is stored: the code of a US state or a Canadian province, for its code or its name, and of other
 * countries the text as it is. Null: the country is one of the two, and has no such state. Without a country either.
 */
export function stateOf(text: string, country: string | null): string | null {
  const written = text.trim();
  const named = written.toUpperCase().replace(/^(US|CA)-/, "");
  const lists = CODES.filter(([code]) => country === null || code === country.toUpperCase());
  if (lists.length === 0) return written;
  for (const [, names] of lists) {
    const code = names.get(ALSO[named] ?? named);
    if (code !== undefined) return code;
  }
  return null;
}

/** How filters compare countries: as they are stored. */
export const COUNTRY_FORM: Form = {
  fit: (text) => (isCountry(text.trim()) ? text.trim().toUpperCase() : null),
  wants: "an ISO 3166 code, such as US",
};

/** How filters compare states. The country of a filter is unknown, so any text but an American state is left as it is. */
export const STATE_FORM: Form = {
  fit: (text) => stateOf(text, null) ?? text.trim(),
  wants: "a state",
};

/** How filters compare languages: as they are stored. */
export const LANGUAGE_FORM: Form = {
  fit: (text) => languageOf(text),
  wants: "a language tag (BCP 47), such as en-US",
};

/** A language tag (BCP 47) in its usual case; null when the text is none. */
export function languageOf(text: string): string | null {
  try {
    return Intl.getCanonicalLocales(text.trim().replaceAll("_", "-"))[0] ?? null;
  } catch {
    return null;
  }
}
