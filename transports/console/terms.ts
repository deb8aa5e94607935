import type { Html } from "#transports/pages/frame/page.ts";
import type { Words } from "./words/english/english.ts";
import { speech } from "./words/say.ts";

export type Term = keyof Words["terms"];

/** A word that explains itself on hover and on focus. `as` is the word in the sentence's form. */
export function term(name: Term, as?: string): Html {
  return speech().term(name, as);
}
