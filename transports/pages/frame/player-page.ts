import { html } from "hono/html";
import type { Property } from "#runtime/operation/property.ts";
import { shownName, type Theme, themePaths } from "#tools/themes/theme.ts";
import type { Speech } from "#transports/pages/words/words.ts";
import { type Html, type Page, respond } from "./page.ts";

/** The casino in whose look a page is, and the language of its reader. */
export interface House {
  property: Property;
  theme: Theme;
  speech: Speech;
}

interface Content extends Omit<Page, "title" | "language" | "theme" | "body"> {
  heading: string;
  /** The outcome of a form. It is the title too, which a screen reader says first. */
  said?: string | undefined;
  content: Html;
  /** A card for one decision, or a list as wide as the screen of a phone. */
  form?: "card" | "list";
}

/** A page that a player sees: the casino's bar at the top, its legal footer at the bottom. */
export function playerPage(house: House, page: Content): Promise<Response> {
  const { property, theme, speech } = house;
  const { heading, said, content, form = "card", ...rest } = page;
  const { style, logo } = themePaths(property.id, theme);
  const name = shownName(theme, property);
  const title = form === "card" ? html`<h1>${heading}</h1>` : "";
  const body = html`<a class="skip" href="#content">${speech.say("skip")}</a><header class="bar"><p>${
    logo ? html`<img src="${logo}" alt="" height="36">` : ""
  }<span>${name}</span></p></header><main id="content" class="${form}">${title}${content}</main>${footerOf(property, theme, speech)}`;
  return respond({
    ...rest,
    title: `${said ?? heading} · ${name}`,
    language: speech.language,
    theme: style,
    body,
  });
}

function footerOf(property: Property, theme: Theme, { say }: Speech): Html {
  const lines = [property.legal_name, property.postal_address, property.responsible_gaming_footer];
  const links = [
    { href: theme.responsible_gaming_url, text: say("take_a_break") },
    { href: property.privacy_policy_url, text: say("privacy") },
  ].filter(({ href }) => href !== null);
  return html`<footer class="legal">${
    links.length > 0
      ? html`<nav aria-label="${say("help_privacy")}">${links.map(({ href, text }) => html`<a href="${href}" rel="noreferrer">${text}</a>`)}</nav>`
      : ""
  }${lines.filter((line) => line !== null).map((line) => html`<p>${line}</p>`)}</footer>`;
}

/** A page for a reader of whom only the language is known, such as the holder of a link that is not ours. */
export function strangerPage(
  speech: Speech,
  page: { heading: string; text: string; status: number },
): Promise<Response> {
  const body = html`<main id="content" class="card"><h1>${page.heading}</h1><p>${page.text}</p></main>`;
  return respond({ title: page.heading, language: speech.language, status: page.status, body });
}
