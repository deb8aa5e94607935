import type { Look } from "#tools/themes/look.ts";
import { frameFor, isFragment } from "./email-document.ts";
import type { EmailTemplate, PropertyVariables } from "./email-template.ts";
import { parseField } from "./liquid.ts";

/**
 * Adds a footer to each body of a template, with the legal information that the body lacks. A fragment of HTML gets a
 * document around it, and its footer in the document's look.
 */
export function withFooter(template: EmailTemplate, property: PropertyVariables, look?: Look): EmailTemplate {
  const { html, text } = template;
  const inHtml = missingDuties("html", html, property);
  const inText = missingDuties("text", text, property);
  const frame = look && html && isFragment(html) ? frameFor(html, look) : undefined;
  const footed = (body: string) =>
    frame
      ? `${body}${frame.seam}${footer(inHtml, property)}`
      : beforeBodyEnd(body, apart(footer(inHtml, property)));
  return {
    ...template,
    ...(frame && { frame }),
    ...(html && inHtml.length > 0 && { html: footed(html) }),
    ...(text && inText.length > 0 && { text: `${text.trimEnd()}\n\n${textFooter(inText, property)}` }),
  };
}

/** The legal information that a body lacks: it has neither the variable nor the property's text. */
function missingDuties(
  field: "html" | "text",
  source: string | null | undefined,
  property: PropertyVariables,
): Duty[] {
  if (!source?.trim()) return [];
  const { variables } = parseField(field, source, field);
  const body = withoutTags(source);
  return DUTIES.filter(({ variable, value }) => {
    const required = value?.(property);
    if (required === null) return false;
    return !variables.includes(variable) && !(required && body.includes(withoutTags(required)));
  });
}

function withoutTags(text: string): string {
  return text
    .replace(/<[^>]*>|\s+/g, " ")
    .replace(/ +/g, " ")
    .trim();
}

function beforeBodyEnd(html: string, footer: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index;
  return end === undefined ? html + footer : html.slice(0, end) + footer + html.slice(end);
}

/** A piece of legal information that a mail must have. */
interface Duty {
  variable: string;
  /** The property's text for it. Null: the property has none and needs none. */
  value?(property: PropertyVariables): string | null;
  html(property: PropertyVariables): string;
  text(property: PropertyVariables): string;
}

// The footer has no `if`: a condition costs more in each message than all of its text.
// `raw` follows `escape`: only the line breaks of an address are HTML.
const DUTIES: readonly Duty[] = [
  {
    variable: "property.postal_address",
    value: ({ postal_address }) => postal_address ?? "",
    html: () =>
      "<p>{{ property.legal_name }}<br>{{ property.postal_address | escape | newline_to_br | raw }}</p>",
    text: () => "{{ property.legal_name }}\n{{ property.postal_address }}",
  },
  {
    variable: "property.responsible_gaming_footer",
    value: ({ responsible_gaming_footer }) => responsible_gaming_footer || null,
    html: () => "<p>{{ property.responsible_gaming_footer }}</p>",
    text: () => "{{ property.responsible_gaming_footer }}",
  },
  {
    variable: "unsubscribe_url",
    html: ({ privacy_policy_url: privacy }) =>
      `<p>${link("unsubscribe_url", "Unsubscribe")} · ${link("preferences_url", "Preferences")}${
        privacy ? ` · ${link("property.privacy_policy_url", "Privacy policy")}` : ""
      }</p>`,
    text: ({ privacy_policy_url: privacy }) =>
      `Unsubscribe: {{ unsubscribe_url }}\nPreferences: {{ preferences_url }}${
        privacy ? "\nPrivacy policy: {{ property.privacy_policy_url }}" : ""
      }`,
  },
];

// A link's own blue suits no design.
function link(variable: string, words: string): string {
  return `<a href="{{ ${variable} }}" style="color:inherit">${words}</a>`;
}

function footer(duties: Duty[], property: PropertyVariables): string {
  return duties.map(({ html }) => html(property)).join("\n");
}

/** In a document of the author's own, whose ground is not known: this grey reads on white and on black. */
function apart(words: string): string {
  return `
<div style="margin:24px auto 0;padding:16px;max-width:600px;font:13px/1.5 Arial,sans-serif;color:#767676;text-align:center">
${words}
</div>
`;
}

function textFooter(duties: Duty[], property: PropertyVariables): string {
  return `--\n${duties.map(({ text }) => text(property)).join("\n\n")}\n`;
}
