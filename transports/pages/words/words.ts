import { LANGUAGES, type Language } from "#tools/themes/theme.ts";
import { de } from "./de.ts";
import { en, type Word, type Words } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { zh } from "./zh.ts";

export const WORDS: Readonly<Record<Language, Words>> = { en, es, fr, de, zh };

/** The texts of one language. */
export interface Speech {
  language: Language;
  /** The text with its values in it. */
  say(word: Word, values?: Readonly<Record<string, string | number>>): string;
  /** A number of seconds in whole minutes or hours, rounded up, such as "5 minutes". */
  duration(seconds: number): string;
  /** A day in the property's time zone. */
  day(iso: string, timezone: string): string;
}

/** The first of these that is a language of the pages: a tag, or an Accept-Language header. */
export function speechOf(...wishes: readonly (string | null | undefined)[]): Speech {
  return speech(preferred(wishes, LANGUAGES) ?? "en");
}

/** The first of the wishes, tags or Accept-Language headers, that is among the languages. */
export function preferred<L extends string>(
  wishes: readonly (string | null | undefined)[],
  languages: readonly L[],
): L | undefined {
  for (const wish of wishes) {
    const language = tagsOf(wish ?? "").flatMap((tag) => languages.filter((one) => one === tag))[0];
    if (language !== undefined) return language;
  }
  return undefined;
}

function speech(language: Language): Speech {
  const words = WORDS[language];
  return {
    language,
    say: (word, values = {}) =>
      words[word].replace(/\{(\w+)\}/g, (mark, name) => String(values[name] ?? mark)),
    duration: (seconds) => {
      const minutes = Math.max(1, Math.ceil(seconds / 60));
      const [count, unit] = minutes < 120 ? [minutes, "minute"] : [Math.ceil(minutes / 60), "hour"];
      return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count);
    },
    day: (iso, timezone) =>
      new Intl.DateTimeFormat(language, {
        dateStyle: "medium",
        timeZone: timezone,
      }).format(new Date(iso)),
  };
}

/** The languages of a header, best first: `de-CH;q=0.8, fr` gives fr, de. */
function tagsOf(header: string): string[] {
  return header
    .slice(0, 300)
    .split(",")
    .map((part) => {
      const [tag = "", weight] = part.trim().split(/\s*;\s*q=/);
      return {
        tag: tag.split(/[-_]/)[0]!.toLowerCase(),
        weight: weight === undefined ? 1 : Number(weight) || 0,
      };
    })
    .sort((a, b) => b.weight - a.weight)
    .flatMap(({ tag, weight }) => (weight > 0 ? [tag] : []));
}
