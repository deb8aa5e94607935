import { decodeHTML } from "entities";
import { invalid } from "#runtime/faults.ts";
import { BARE_FIELDS, type ParsedField, parseField } from "./liquid.ts";
import { plainText } from "./plain-text.ts";
import { gathering } from "./trial.ts";

export interface EmailTemplate {
  subject: string;
  preheader?: string | null;
  html?: string | null;
  text?: string | null;
  /** The document around its HTML, if that is a fragment. */
  frame?: Frame;
}

/** The document around a fragment of HTML. Its parts are the same for all recipients. */
export interface Frame {
  /** Up to the begin of the body. */
  head: string;
  /** From there to the fragment. */
  top: string;
  /** Between the fragment and the footer. */
  seam: string;
  end: string;
}

export interface RenderedEmail {
  subject: string;
  html?: string;
  text: string;
}

export interface CompiledEmail {
  /** For one recipient. Throws `invalid`, with the field and the line, when a variable is missing or a limit is passed. */
  render(variables: Record<string, unknown>): RenderedEmail;
  /** The paths of all variables in the template, also those with a `default`; sorted. */
  variables: string[];
}

/** The property's fields in templates. */
export interface PropertyVariables {
  name: string;
  legal_name?: string | null;
  postal_address?: string | null;
  responsible_gaming_footer?: string | null;
  privacy_policy_url?: string | null;
}

/** HTML with marks in it. The message keeps them; a text made of it does not. */
interface Marked {
  source: string;
  clean(html: string): string;
}

/**
 * Parses a template once for all its recipients, with `marked` in place of its HTML. Throws `invalid`, with the field,
 * the line and the reason.
 */
export function compileEmail(template: EmailTemplate, marked?: Marked): CompiledEmail {
  const parsing = gathering();
  const subject = parsing.attempt(() => parseField("subject", template.subject, "text"));
  const preheader = parsing.attempt(() => optional("preheader", template.preheader));
  const html = parsing.attempt(() => optional("html", marked?.source ?? template.html));
  const text = parsing.attempt(() => optional("text", template.text));
  parsing.throwAll();
  if (!subject || !(html || text)) throw invalid("html", "an email needs html or text");
  const parts = [subject, preheader, html, text].filter((part) => part !== undefined);
  return {
    variables: [...new Set(parts.flatMap((part) => part.variables))].sort(),
    render(variables) {
      const rendering = gathering();
      const line = rendering.attempt(() => subjectLine(subject, variables))!;
      const body = rendering.attempt(() => html?.render(variables));
      const written = rendering.attempt(() => text?.render(variables));
      const teaser = rendering.attempt(() => preheader && oneLine(preheader.render(variables)));
      rendering.throwAll();
      const plain = written ?? plainText(marked?.clean(body ?? "") ?? body ?? "");
      if (body === undefined) return { subject: line, text: plain };
      return { subject: line, html: documentOf(body, teaser, template.frame), text: plain };
    },
  };
}

function subjectLine(subject: ParsedField, variables: Record<string, unknown>): string {
  const line = oneLine(subject.render(variables));
  if (line === "") throw invalid("subject", "is empty for this recipient");
  return line;
}

/**
 * The variables of one recipient. A field without a value (null or "") is left out, so that a template must give a
 * default. Times become ISO 8601.
 */
export function playerVariables(
  player: Record<string, unknown>,
  property: PropertyVariables,
  links: Readonly<Record<string, string>> = {},
): Record<string, unknown> {
  const known = withValues(player);
  const custom = player.custom;
  if (typeof custom === "object" && custom !== null) known.custom = withValues(custom);
  const variables: Record<string, unknown> = {
    player: known,
    property: withValues(property),
    ...links,
  };
  for (const alias of BARE_FIELDS) {
    if (alias in known) variables[alias] = known[alias];
  }
  return variables;
}

/** RFC 2369 and RFC 8058: the mail client's own unsubscribe button. */
export function listUnsubscribeHeaders(url: string, mailto?: string): Record<string, string> {
  return {
    "List-Unsubscribe": mailto === undefined ? `<${url}>` : `<${url}>, <mailto:${mailto}>`,
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
  };
}

function optional(
  field: "preheader" | "html" | "text",
  source: string | null | undefined,
): ParsedField | undefined {
  if (source === null || source === undefined || source.trim() === "") return undefined;
  return parseField(field, source, field === "text" ? "text" : "html");
}

/** The text of a header: a line break in it would begin another one. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}

const HIDDEN = "display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all";

function documentOf(body: string, teaser: string | undefined, frame: Frame | undefined): string {
  if (!frame) return teaser ? withPreheader(body, teaser) : body;
  const hidden = teaser ? hiddenText(teaser) : "";
  return `${frame.head}${hidden}${frame.top}${body}${frame.end}`;
}

function hiddenText(teaser: string): string {
  return `<span style="${HIDDEN}">${teaser}</span>`;
}

/** The teaser that rendering has hidden in the HTML; null without one. */
export function preheaderIn(html: string): string | null {
  const opening = `<span style="${HIDDEN}">`;
  const at = html.indexOf(opening);
  if (at < 0) return null;
  const from = at + opening.length;
  return decodeHTML(html.slice(from, html.indexOf("</span>", from)));
}

function withPreheader(html: string, teaser: string): string {
  const body = html.search(/<body\b/i);
  // 0 without a body, or with one that never closes.
  const at = body < 0 ? 0 : html.indexOf(">", body) + 1;
  return html.slice(0, at) + hiddenText(teaser) + html.slice(at);
}

function withValues(record: object): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(record)) {
    if (value === null || value === undefined || value === "") continue;
    kept[key] = value instanceof Date ? value.toISOString() : value;
  }
  return kept;
}
