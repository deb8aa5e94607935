import { html } from "hono/html";
import type { Fault } from "#runtime/faults.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { type Html, respond } from "#transports/pages/frame/page.ts";
import type { Desk } from "./desk.ts";
import { iconOf } from "./icons.ts";
import { languageSwitch, returnPath, signedOutPage } from "./signed-out.ts";
import { labelOf } from "./values.ts";
import type { Words } from "./words/english/english.ts";
import { inEnglish, language, say } from "./words/say.ts";

/** The parts of the console, by their paths. */
export type Part = keyof Words["general"]["parts"];
/** The badge counts no further. */
export const MOST_WAITING = 99;

/** The guide of each part, by its name under /docs. */
const GUIDES: Partial<Record<Part, string>> = {
  "/console": "console",
  "/console/campaigns": "campaigns",
  "/console/journeys": "journeys",
  "/console/segments": "segments",
  "/console/templates": "campaigns",
  "/console/players": "consent-and-compliance",
  "/console/approvals": "agents",
  "/console/compliance": "compliance",
  "/console/imports": "players-and-imports",
  "/console/records": "api-conventions",
  "/console/settings": "running-it",
};

export interface Screen {
  part: Part;
  heading: string;
  /** The heading is the title of an operation, which is English in every language. */
  isEnglish?: boolean;
  content: Html;
  /** The way back to the list, where the page is of one record. */
  above?: { path: string; name: string };
  /** States beside the heading. */
  states?: Html | "";
  /** The page's main buttons. */
  actions?: Html | "";
  status?: number;
  /** The content has a frame with a page of ours. */
  frames?: boolean;
}

/** A page of the console: the parts, the property, the person, and the content. */
export async function consolePage(desk: Desk, screen: Screen): Promise<Response> {
  const { part, heading, content, above, states = "", actions = "", isEnglish, ...rest } = screen;
  const title = `${heading} · ${desk.property.name}`;
  const guide = GUIDES[part];
  const body = html`<a class="skip" href="#content">${say().general.skipToTheContent}</a><div class="shell">${await sidebar(desk, part)}<main id="content" class="desk"><header class="head"><div>${above ? html`<p class="above"><a href="${above.path}">${above.name}</a></p>` : ""}<h1>${isEnglish ? inEnglish(heading) : heading}</h1>${states !== "" ? html`<p class="states" id="states">${states}</p>` : ""}</div><div class="head-acts"><div class="acts" id="acts">${actions}</div>${guide ? html`<a class="guide" href="/docs/${guide}">${iconOf("guide")}${say().general.guide}</a>` : ""}</div></header>${content}</main></div>`;
  return respond({ ...rest, title, language: language(), body, styles: STYLES, scripts: ["console.js"] });
}

async function sidebar(desk: Desk, part: Part): Promise<Html> {
  const [waiting, logo] = await Promise.all([desk.waiting, desk.logo]);
  const links = Object.entries(say().general.parts).map(
    ([path, name]) =>
      html`<a href="${path}"${path === part ? html` aria-current="page"` : ""}>${iconOf(path)}<span>${name}</span>${path === "/console/approvals" ? badgeOf(waiting) : ""}</a>`,
  );
  return html`<header class="side"><div class="house">${logo === null ? html`<span class="mark" aria-hidden="true">${[...desk.property.name][0] ?? ""}</span>` : html`<img class="logo" src="${logo}" alt="" height="40">`}<p>${desk.property.name}</p></div>${propertySwitch(desk)}<nav aria-label="${say().general.partsOfTheConsole}">${links}</nav><form class="person" method="post" action="/console/sign-out">${tokenField(desk)}<span class="who"><span>${desk.user.email}</span><span class="soft">${labelOf(desk.role)}</span></span><button class="quiet small">${say().general.signOut}</button></form>${languageSwitch(returnPath(desk.c, part))}</header>`;
}

function badgeOf(waiting: number): Html | "" {
  if (waiting === 0) return "";
  const count = waiting > MOST_WAITING ? `${MOST_WAITING}+` : waiting;
  return html` <span class="badge">${count}<span class="unseen"> ${say().general.waiting}</span></span>`;
}

const STYLES = [
  "console.css",
  "tables.css",
  "forms.css",
  "charts.css",
  "buttons.css",
  "approvals.css",
] as const;

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
  return html`<form class="switch" method="post" action="/console/property">${tokenField(desk)}<label class="unseen" for="property">${say().general.property}</label><select id="property" name="property">${options}</select><button class="quiet small">${say().general.switch}</button></form>`;
}

/** The way to the first record of a list. An analyst makes none, and reads who does. */
export function firstStep({ canWrite }: Pick<Desk, "canWrite">, path: string, text: string): Html {
  return canWrite
    ? html`<p><a class="button" href="${path}">${text}</a></p>`
    : html`<p>${say().general.managerMakesFirstOne}</p>`;
}

/** The page of a fault: within the console where there is a desk. */
export function faultPage(at: Desk | HttpContext, fault: Fault): Promise<Response> {
  const { status } = fault;
  const headings: Readonly<Record<number, string>> = say().general.headings;
  const heading =
    headings[status] ?? (status >= 500 ? say().general.thatDidNotWork : say().general.thatCannotBeDone);
  const content = html`${faultText(fault)}<p><a class="button small" href="/console">${say().general.openNow}</a></p>`;
  return "user" in at
    ? consolePage(at, { part: "/console", heading, content, status })
    : signedOutPage(at, { heading, content, status });
}

/** A fault in words, with each field that is wrong. */
export function faultText(fault: Fault): Html {
  // A detail that the sentence says already is not said again.
  const further = fault.details?.filter(({ message }) => !fault.message.includes(message)) ?? [];
  const details = further.map(({ field, message }) => html`<li>${inEnglish(`${field}: ${message}`)}</li>`);
  const isStale =
    fault.code === "conflict" &&
    fault.details?.some(({ field }) => field === "version" || field === "fingerprint");
  if (isStale) return html`<div class="wrong" role="alert"><p>${say().general.changedMeanwhile}</p></div>`;
  const text = fault.status >= 500 ? say().general.nothingLostPleaseTryAgain : inEnglish(fault.message);
  return html`<div class="wrong" role="alert"><p>${text}</p>${details.length > 0 ? html`<ul>${details}</ul>` : ""}</div>`;
}

/** The page of a form whose property is not the one that the console is at now. */
export function elsewherePage(desk: Desk, propertyId: string | undefined): Promise<Response> {
  const of = desk.properties.find(({ id }) => id === propertyId)?.name ?? say().general.anotherProperty;
  return consolePage(desk, {
    part: "/console",
    heading: say().general.formOfAnotherProperty,
    content: html`<div class="wrong" role="alert"><p>${say().general.formOf(of, desk.property.name)}</p></div>`,
    status: 409,
  });
}

/** The page of a person who belongs to no property. */
export function nowherePage(c: HttpContext, email: string, token: string): Promise<Response> {
  return signedOutPage(c, {
    heading: say().general.youBelongToNoProperty,
    content: html`<p>${say().general.nowhere(email)}</p><form method="post" action="/console/sign-out">${tokenField({ token })}<button>${say().general.signOut}</button></form>`,
  });
}
