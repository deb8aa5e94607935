// @ts-check
import { html } from "./html.js";

/**
 * @typedef {import("./html.js").Html} Html
 * @typedef {import("../words/english/english.ts").Words} Words
 * @typedef {keyof Words["terms"]} Term
 * @typedef {ReturnType<typeof speechOf>} Speech
 */

/**
 * Numbers, times, codes and terms in the language of these words.
 * @param {Words} words
 */
export function speechOf(words) {
  const numbers = new Intl.NumberFormat(words.locale, { maximumFractionDigits: 4 });
  const plurals = new Intl.PluralRules(words.locale);
  const clocks = remembered((timeZone) => clockOf(words, timeZone));
  /** @param {string} code */
  const labelOf = (code) => {
    const label = Object.hasOwn(words.labels, code) ? words.labels[code] : undefined;
    return label ?? code.replaceAll("_", " ");
  };
  return {
    words,
    /** A number with its thousands apart. @param {number} value */
    count: (value) => numbers.format(value),
    /** @param {number} amount @param {string} currency */
    money: (amount, currency) => amount.toLocaleString(words.locale, { style: "currency", currency }),
    /** A number with its noun: 1 player, 2 players. @param {number} value @param {keyof Words["nouns"]} noun */
    counted: (value, noun) => {
      const { one, many, other } = words.nouns[noun];
      const form = plurals.select(value);
      return `${numbers.format(value)} ${form === "one" ? one : form === "many" ? (many ?? other) : other}`;
    },
    /** A time by the clock of the zone. @param {Date} at @param {string} timeZone */
    clock: (at, timeZone) => clocks(timeZone).format(at),
    /** The label of a code or a field, as it stands within a sentence. */
    labelOf,
    /** The label as a heading. @param {string} code */
    headingOf: (code) => {
      const text = labelOf(code);
      return (text[0]?.toUpperCase() ?? "") + text.slice(1);
    },
    /** A sentence of an operation. It is English in every language, and says so to a screen reader.
     * @template {string | import("#transports/pages/frame/page.ts").Html} T @param {T} text */
    inEnglish: (text) =>
      text === "" || words.locale.startsWith("en") ? text : html`<span lang="en">${text}</span>`,
    /** A word that explains itself on hover and on focus. `as` is the word in the sentence's form.
     * @param {Term} name @param {string} [as] */
    term: (name, as) => {
      const [word, meaning] = words.terms[name];
      const shown = as ?? word;
      const id = `term-${name}-${shown.length}`;
      return html`<span class="term" tabindex="0" aria-describedby="${id}">${shown}<span class="says" role="tooltip" id="${id}">${meaning}</span></span>`;
    },
    /** A reason for leaving a recipient out of a channel, as a sentence; empty for one that is unknown.
     * @param {string} reason @param {unknown} channel */
    reasonOf: (reason, channel) => {
      /** @type {Readonly<Record<string, string>>} */
      const all = channel === "voice" ? { ...words.reasons, ...words.callReasons } : words.reasons;
      return Object.hasOwn(all, reason) ? (all[reason] ?? "") : "";
    },
  };
}

/** @param {Words} words @param {string} timeZone */
function clockOf({ locale, hourCycle }, timeZone) {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone, hourCycle });
}

/** Making a formatter takes longer than a hundred uses of it, and a page has hundreds of times.
 * @template T @param {(name: string) => T} make @returns {(name: string) => T} */
function remembered(make) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, make(name));
    return known.get(name);
  };
}
