import { AsyncLocalStorage } from "node:async_hooks";
import { type Speech, speechOf } from "#transports/console/views/speech.js";
import type { Html } from "#transports/pages/frame/page.ts";
import { preferred } from "#transports/pages/words/words.ts";
import { english, type Words } from "./english/english.ts";
import { spanish } from "./spanish/spanish.ts";

/** The languages of the console. */
const LANGUAGES = { en: english, es: spanish } as const;
export type Language = keyof typeof LANGUAGES;

/** Each language by its own name. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: "English", es: "Español" };

/** The language of the request. Nearly every line of a page needs it, so no function hands it on. */
const spoken = new AsyncLocalStorage<Language>();

/** The words of the console in the language of the request; English outside of one. */
export function say(): Words {
  return LANGUAGES[language()];
}

const SPEECHES: Readonly<Record<Language, Speech>> = { en: speechOf(english), es: speechOf(spanish) };

/** How the language of the request says numbers, times, codes and terms. */
export function speech(): Speech {
  return SPEECHES[language()];
}

export function language(): Language {
  return spoken.getStore() ?? "en";
}

/** Runs the work of a request in the language. */
export function speaking<T>(wanted: Language, work: () => T): T {
  return spoken.run(wanted, work);
}

/** The language of these wishes, the first one first: a tag or an Accept-Language header. */
export function languageOf(...wishes: readonly (string | null | undefined)[]): Language {
  return preferred(wishes, Object.keys(LANGUAGES) as Language[]) ?? "en";
}

/** A sentence of an operation. It is English in every language, and says so to a screen reader. */
export function inEnglish(text: Html | string): Html | string {
  return speech().inEnglish(text);
}

/** A number with its thousands apart. */
export function count(value: number): string {
  return speech().count(value);
}

export function money(amount: number, currency: string): string {
  return speech().money(amount, currency);
}

/** A number with its noun: 1 player, 2 players. */
export function counted(value: number, noun: keyof Words["nouns"]): string {
  return speech().counted(value, noun);
}

/** A time by the clock of the zone. */
export function clock(at: Date, timeZone: string): string {
  return speech().clock(at, timeZone);
}
