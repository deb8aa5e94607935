import { type Colors, type Look, TYPEFACES } from "#tools/themes/theme.ts";
import type { EmailTemplate, Frame, PropertyVariables } from "./email-template.ts";
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

const DOCUMENT = /<(?:!doctype|html|head|body)\b/i;
/** The author has chosen colours, which dark mode would make illegible. */
const COLORED = /<style\b|<[^<>]*[\s"';](?:color|background(?:-color)?|bgcolor)\s*[:=]/i;
const WIDTH = 600;

/** Whether HTML is a part of a document: a mail of it alone has neither typeface nor width. */
function isFragment(html: string): boolean {
  return !DOCUMENT.test(html);
}

/**
 * A document of 600 px, in the property's colours, that reads on phones and in Outlook. It has a dark mode, unless the
 * fragment has colours of its own.
 */
function frameFor(fragment: string, { theme, name, logoUrl }: Look): Frame {
  const { light, dark } = theme;
  const face = TYPEFACES[theme.typeface];
  const schemes = COLORED.test(fragment) ? "light" : "light dark";
  const night =
    schemes === "light" ? "" : `@media (prefers-color-scheme:dark){${rulesOf(dark, " !important")}}`;
  const brand = logoUrl
    ? `<img src="${escaped(logoUrl)}" alt="${escaped(name)}" height="40" style="height:40px;max-width:240px;border:0">`
    : escaped(name);
  return {
    head: `<!doctype html>
<html lang="${theme.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="${schemes}">
<meta name="supported-color-schemes" content="${schemes}">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no">
<title>${escaped(name)}</title>
<style>
:root{color-scheme:${schemes}}
.paper h1{margin:0 0 16px;font-size:26px;line-height:1.25}
.paper h2{margin:24px 0 12px;font-size:20px;line-height:1.3}
.paper p{margin:0 0 16px}
.paper img{max-width:100%;height:auto}
.paper a.button{display:inline-block;padding:13px 24px;border-radius:8px;font-weight:600;text-decoration:none}
.foot p{margin:0 0 8px}
.foot a{color:inherit}
${rulesOf(light, "")}
@media (max-width:480px){.paper{padding:24px 20px !important}.paper h1{font-size:23px}}
${night}
</style>
</head>
<body class="ground" style="margin:0;padding:0;background:${light.ground};-webkit-text-size-adjust:100%">`,
    top: `
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:${light.ground}"><tr><td align="center" style="padding:24px 12px">
<!--[if mso]><table role="presentation" width="${WIDTH}" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:${WIDTH}px;font-family:${face}">
<tr><td class="brand" align="left" style="padding:0 4px 16px;font-size:18px;line-height:1.3;font-weight:700;color:${light.brand}">${brand}</td></tr>
<tr><td class="paper" align="left" style="padding:32px;background:${light.paper};border-top:4px solid ${light.brand};border-radius:8px;font-size:16px;line-height:1.55;color:${light.ink};overflow-wrap:break-word">
`,
    seam: `
</td></tr>
<tr><td class="foot" align="left" style="padding:20px 4px 0;font-size:13px;line-height:1.5;color:${light.soft}">
`,
    end: `
</td></tr></table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body>
</html>
`,
  };
}

function rulesOf({ ground, paper, ink, soft, brand, on_brand }: Colors, weight: string): string {
  return [
    `.ground{background:${ground}${weight}}`,
    `.brand{color:${brand}${weight}}`,
    `.paper{background:${paper}${weight};color:${ink}${weight};border-color:${brand}${weight}}`,
    `.paper a{color:${brand}${weight}}`,
    `.paper a.button{background:${brand}${weight};color:${on_brand}${weight}}`,
    `.foot{color:${soft}${weight}}`,
  ].join("");
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
