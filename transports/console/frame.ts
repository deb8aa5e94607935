import { html } from "hono/html";
import type { Fault } from "#runtime/faults.ts";
import { type Html, respond, servicePage } from "#transports/pages/frame/page.ts";
import type { Desk } from "./desk.ts";

/** The parts of the console, by their paths. */
const PARTS = {
  "/console": "Now",
  "/console/campaigns": "Campaigns",
  "/console/journeys": "Journeys",
  "/console/segments": "Segments",
  "/console/players": "Players",
  "/console/approvals": "Approvals",
  "/console/compliance": "Compliance",
  "/console/records": "Records",
} as const;
/** The badge counts no further. */
export const MOST_WAITING = 99;

export type Part = keyof typeof PARTS;

export interface Screen {
  part: Part;
  heading: string;
  content: Html;
  status?: number;
  /** The content has a frame with a page of ours. */
  frames?: boolean;
}

/** A page of the console: the parts, the property, the person, and the content. */
export async function consolePage(
  desk: Desk,
  { part, heading, content, ...rest }: Screen,
): Promise<Response> {
  const waiting = await desk.waiting;
  const title = `${heading} · ${desk.property.name}`;
  const links = Object.entries(PARTS).map(
    ([path, name]) =>
      html`<a href="${path}"${path === part ? html` aria-current="page"` : ""}>${name}${path === "/console/approvals" ? badgeOf(waiting) : ""}</a>`,
  );
  const body = html`<a class="skip" href="#content">Skip to the content</a><header class="top"><p class="house">${desk.property.name}</p><nav aria-label="Parts of the console">${links}</nav><div class="person">${propertySwitch(desk)}<form method="post" action="/console/sign-out">${tokenField(desk)}<span>${desk.user.email}, ${desk.role}</span><button class="quiet small">Sign out</button></form></div></header><main id="content" class="desk"><h1>${heading}</h1>${content}</main>`;
  return respond({ ...rest, title, body, styles: ["console.css", "approvals.css"], scripts: ["console.js"] });
}

function badgeOf(waiting: number): Html | "" {
  if (waiting === 0) return "";
  const count = waiting > MOST_WAITING ? `${MOST_WAITING}+` : waiting;
  return html` <span class="badge">${count}<span class="unseen"> waiting</span></span>`;
}

/** The hidden field that each form of the console has. */
export function tokenField({ token }: Pick<Desk, "token">): Html {
  return html`<input type="hidden" name="token" value="${token}">`;
}

function propertySwitch(desk: Desk): Html | "" {
  if (desk.properties.length < 2) return "";
  const options = desk.properties.map(
    ({ id, name }) =>
      html`<option value="${id}"${id === desk.property.id ? html` selected` : ""}>${name}</option>`,
  );
  return html`<form method="post" action="/console/property">${tokenField(desk)}<label for="property">Property</label><select id="property" name="property">${options}</select><button class="quiet small">Switch</button></form>`;
}

/** A table that can be wider than a phone. Without rows, `empty` says what to do next. */
export function tableOf(caption: string, head: readonly string[], rows: readonly Html[], empty: Html): Html {
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`;
  return html`<div class="wide" role="region" aria-label="${caption}" tabindex="0"><table><caption class="unseen">${caption}</caption><thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** The page of a fault: within the console where there is a desk. */
export function faultPage(desk: Desk | null, fault: Fault): Promise<Response> {
  const { status } = fault;
  const heading = HEADINGS[status] ?? (status >= 500 ? "That did not work" : "That cannot be done");
  const details = fault.details?.map(({ field, message }) => html`<li>${field}: ${message}</li>`) ?? [];
  const text = status >= 500 ? "Nothing is lost. Please try again in a minute." : fault.message;
  const content = html`<p class="wrong" role="alert">${text}</p>${details.length > 0 ? html`<ul>${details}</ul>` : ""}`;
  return desk
    ? consolePage(desk, { part: "/console", heading, content, status })
    : servicePage({ heading, content, status });
}

const HEADINGS: Readonly<Record<number, string>> = {
  403: "Your role does not allow that",
  404: "There is no such record here",
  429: "Too many requests",
};

/** The page of a person who belongs to no property. */
export function nowherePage(email: string, token: string): Promise<Response> {
  return servicePage({
    heading: "You belong to no property yet",
    content: html`<p>An administrator gives ${email} a role with grant_membership. A platform administrator makes the first property with create_property.</p><form method="post" action="/console/sign-out">${tokenField({ token })}<button>Sign out</button></form>`,
  });
}
