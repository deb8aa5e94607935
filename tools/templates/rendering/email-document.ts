import type { Look } from "#tools/themes/look.ts";
import { type Colors, TYPEFACES } from "#tools/themes/theme.ts";

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

const DOCUMENT = /<(?:!doctype|html|head|body)\b/i;
/** The author has chosen colours, which dark mode would make illegible. */
const COLORED = /<style\b|<[^<>]*[\s"';](?:color|background(?:-color)?|bgcolor)\s*[:=]/i;
const WIDTH = 600;

/** Whether HTML is a part of a document: a mail of it alone has neither typeface nor width. */
export function isFragment(html: string): boolean {
  return !DOCUMENT.test(html);
}

/**
 * A document of 600 px, in the property's colours, that reads on phones and in Outlook. It has a dark mode, unless the
 * fragment has colours of its own.
 */
export function frameFor(fragment: string, { theme, name, logoUrl }: Look): Frame {
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
