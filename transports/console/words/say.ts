import { AsyncLocalStorage } from "node:async_hooks";
import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import { preferred } from "#transports/pages/words/words.ts";
import { english, type Words } from "./english/english.ts";
import type { Noun } from "./part.ts";
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
  return text === "" || language() === "en" ? text : html`<span lang="en">${text}</span>`;
}

/** A number with its thousands apart. */
export function count(value: number): string {
  return numberFormat(say().locale).format(value);
}

export function money(amount: number, currency: string): string {
  return amount.toLocaleString(say().locale, { style: "currency", currency });
}

/** So many of a thing: 1 player, 2 players. */
export function counted(value: number, noun: keyof Words["nouns"]): string {
  const { nouns, locale } = say();
  const forms: Noun = nouns[noun];
  const form = pluralRules(locale).select(value);
  return `${count(value)} ${form === "one" ? forms.one : form === "many" ? (forms.many ?? forms.other) : forms.other}`;
}

/** A time by the clock of the zone. */
export function clock(at: Date, timeZone: string): string {
  const { locale, hourCycle } = say();
  return timeFormat(locale, timeZone, hourCycle).format(at);
}

// Making a formatter takes longer than a hundred uses of it, and a page has hundreds of numbers and times.
const numberFormat = kept((locale) => new Intl.NumberFormat(locale, { maximumFractionDigits: 4 }));
const pluralRules = kept((locale) => new Intl.PluralRules(locale));
const timeFormat = kept(
  (locale, timeZone, hourCycle) =>
    new Intl.DateTimeFormat(locale, {
      dateStyle: "medium",
      timeStyle: "short",
      timeZone,
      hourCycle: hourCycle as Words["hourCycle"],
    }),
);

function kept<T>(make: (...names: string[]) => T): (...names: string[]) => T {
  const made = new Map<string, T>();
  return (...names) => {
    const key = names.join(" ");
    const known = made.get(key) ?? make(...names);
    made.set(key, known);
    return known;
  };
}
