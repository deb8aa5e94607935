import { z } from "zod";
import { didYouMean } from "#db/nearest.ts";
import type { Form } from "#db/query/readable-table.ts";

/** The current IANA names of zones that `Intl` still gives by their former ones. */
const RENAMED: Readonly<Record<string, string>> = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Coral_Harbour": "America/Atikokan",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei",
  "Pacific/Truk": "Pacific/Chuuk",
};

const zones = new Map<string, string | null>();

/** A time zone by its one name, in which it is stored: `US/Eastern` is America/New_York. Null when the text names none. */
export function timeZoneOf(text: string): string | null {
  let zone = zones.get(text);
  if (zone === undefined) {
    zone = /^[A-Za-z]/.test(text) ? canonical(text) : null;
    if (zones.size < 1000) zones.set(text, zone);
  }
  return zone;
}

function canonical(text: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions();
    return RENAMED[timeZone] ?? timeZone;
  } catch {
    return null;
  }
}

const WANTS = "an IANA time zone, such as America/New_York";

/** The schema of a time zone: its value is in the one spelling. */
export function timeZone() {
  return z
    .string()
    .trim()
    .max(64)
    .refine((text) => timeZoneOf(text) !== null, { error: ({ input }) => `must be ${WANTS}${meant(input)}` })
    .overwrite((text) => timeZoneOf(text) ?? text);
}

function meant(text: unknown): string {
  const names = Intl.supportedValuesOf("timeZone").map((name) => RENAMED[name] ?? name);
  return didYouMean(String(text), names);
}

/** How filters compare time zones: as they are stored. */
export const TIME_ZONE_FORM: Form = { fit: (text) => timeZoneOf(text.trim()), wants: WANTS };
