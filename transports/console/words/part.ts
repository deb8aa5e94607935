import type { Html } from "#transports/pages/frame/page.ts";

/** The parts of a sentence on a page: a text, a number or a piece of HTML. */
export type Part = Html | string | number;
/** The parts of a sentence that is a text alone. */
export type Shown = string | number;
/** The forms of a counted noun, by the categories of Intl.PluralRules. */
export type Noun = Readonly<{ one: string; many?: string; other: string }>;
