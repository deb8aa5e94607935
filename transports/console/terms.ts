import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Words } from "./words/english/english.ts";
import { say } from "./words/say.ts";

export type Term = keyof Words["terms"];

/** A word that explains itself on hover and on focus. `as` is the word in the sentence's form. */
export function term(name: Term, as: string = say().terms[name][0]): Html {
  const id = `term-${name}-${as.length}`;
  return html`<span class="term" tabindex="0" aria-describedby="${id}">${as}<span class="says" role="tooltip" id="${id}">${say().terms[name][1]}</span></span>`;
}
