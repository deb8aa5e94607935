import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";

/** Words of the field, each in a sentence. */
const TERMS = {
  adt: ["ADT", "Average daily theoretical: the theoretical win of one day of play, on average."],
  theo: ["theo", "Theoretical win: the money that the house expects to win from a player's bets."],
  theo_uplift: [
    "Theo uplift",
    "Theoretical win of the recipients, less that of as many players of the holdout.",
  ],
  holdout: ["holdout", "A share of the audience, drawn by chance, that gets nothing, to compare with."],
  gate: [
    "gate",
    "The rules that every message passes: consent, suppression, self-exclusion, age, hours and caps.",
  ],
  human: [
    "by people",
    "Without the opens and clicks of privacy proxies, filters and scanners, which open mail by machine.",
  ],
  converted: ["Converted", "Recipients who reached the campaign's goal in its time."],
  redeemed: ["Redeemed", "Recipients who redeemed a prize or an offer of this campaign."],
  segment: ["segment", "A saved audience: its rules are judged anew each time it is used."],
  suppression: [
    "suppression",
    "An address that gets nothing: it bounced, complained, or its owner said stop.",
  ],
  quiet_hours: ["quiet hours", "Hours of a place's law in which messages wait, by each player's own clock."],
  cap: ["cap", "The most messages that one player gets in a time. The next message waits."],
  preheader: ["preheader", "The line that mail programs show beside the subject, before the mail is opened."],
  liquid: [
    "Liquid",
    'The language of fields in texts, such as {{ first_name | default: "friend" }}, filled in for each player.',
  ],
  dry_run: ["dry run", "Reads and counts the whole file, and writes nothing."],
  consent: ["consent", "A player's recorded permission for a channel, with its source, text and time."],
} as const satisfies Record<string, readonly [string, string]>;
export type Term = keyof typeof TERMS;

/** A word that explains itself on hover and on focus. `as` is the word in the sentence's form. */
export function term(name: Term, as: string = TERMS[name][0]): Html {
  const id = `term-${name}-${as.length}`;
  return html`<span class="term" tabindex="0" aria-describedby="${id}">${as}<span class="says" role="tooltip" id="${id}">${TERMS[name][1]}</span></span>`;
}
