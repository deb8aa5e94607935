import { expect, test } from "vitest";
import { withFooter } from "#tools/templates/rendering/email-document.ts";
import { compileEmail, playerVariables } from "#tools/templates/rendering/email-template.ts";
import { contrast } from "#tools/themes/contrast.ts";
import { DEFAULT_THEME, type Look } from "#tools/themes/theme.ts";

const property = {
  name: "Lucky Star",
  legal_name: "Lucky Star Gaming LLC",
  postal_address: "1 Main Street",
  responsible_gaming_footer: null,
  privacy_policy_url: null,
};
const look: Look = { theme: DEFAULT_THEME, name: 'Lucky "Star" & Co', logoUrl: null };
const links = { unsubscribe_url: "https://casino.example/u", preferences_url: "https://casino.example/p" };

function render(html: string, more: Partial<Look> = {}, preheader?: string) {
  const footed = withFooter({ subject: "Hi", html, preheader: preheader ?? null }, property, {
    ...look,
    ...more,
  });
  const { html: whole, text } = compileEmail(footed).render(
    playerVariables({ first_name: "Ana" }, property, links),
  );
  return { html: whole!, text };
}

test("a fragment becomes a document of 600 px with language, charset, viewport and dark mode", () => {
  const { html } = render("<p>Hello {{ first_name }}</p>", { theme: { ...DEFAULT_THEME, language: "es" } });
  expect(html).toMatch(/^<!doctype html>\s*<html lang="es">/);
  expect(html).toContain('<meta charset="utf-8">');
  expect(html).toContain('<meta name="viewport" content="width=device-width,initial-scale=1">');
  expect(html).toContain("max-width:600px");
  expect(html).toMatch(/prefers-color-scheme:dark\)\{[^}]*#131519 !important/);
  expect(html).toContain("<p>Hello Ana</p>");
  expect(html.trimEnd()).toMatch(/<\/body>\s*<\/html>$/);
  for (const tag of ["table", "tr", "td"]) {
    expect(html.match(new RegExp(`<${tag}\\b`, "g"))?.length, tag).toBe(
      html.match(new RegExp(`</${tag}>`, "g"))?.length,
    );
  }
});

test("the footer stands below the card, in the design, and the text has it too", () => {
  const { html, text } = render("<p>Hello</p>");
  expect(html.indexOf('class="foot"')).toBeGreaterThan(html.indexOf("<p>Hello</p>"));
  expect(html.indexOf("Lucky Star Gaming LLC")).toBeGreaterThan(html.indexOf('class="foot"'));
  expect(text).toMatch(/^Hello\n\nLucky Star Gaming LLC\n1 Main Street/);
  expect(text).not.toContain("Co");
});

test("the name, the logo and the typeface are the property's, and a name is text", () => {
  const { html } = render("<p>Hi</p>", { logoUrl: "https://casino.example/theme/x/logo" });
  expect(html).toContain(
    '<img src="https://casino.example/theme/x/logo" alt="Lucky &#34;Star&#34; &#38; Co"',
  );
  const named = render("<p>Hi</p>", { theme: { ...DEFAULT_THEME, typeface: "serif" } }).html;
  expect(named).toContain("font-family:Georgia,");
  expect(named).toContain("Lucky &#34;Star&#34; &#38; Co</td>");
});

test.each([
  ['<p style="color:#333">Hi</p>', "a colour in a style"],
  ['<table bgcolor="#ffffff"><tr><td>Hi</td></tr></table>', "a ground as an attribute"],
  ["<style>p { background: #eee }</style><p>Hi</p>", "a style sheet"],
])("a fragment with colours of its own stays light, so that it can be read: %s", (html) => {
  const whole = render(html).html;
  expect(whole).not.toContain("prefers-color-scheme");
  expect(whole).toContain('<meta name="color-scheme" content="light">');
});

test("words about colours are no colours", () => {
  expect(render("<p>Our favourite color: red. Background music at eight.</p>").html).toContain(
    "prefers-color-scheme",
  );
});

test("a document of the author's own stays as it is, and its footer reads on white and on black", () => {
  const { html } = render("<!doctype html><html><body><p>Hi</p></body></html>");
  expect(html).toMatch(/^<!doctype html><html><body><p>Hi<\/p>\n<div style=/);
  const [grey] = /#[0-9a-f]{6}/.exec(html)!;
  for (const ground of ["#ffffff", "#000000"]) expect(contrast(grey, ground)).toBeGreaterThanOrEqual(4.5);
});

test("the preheader hides at the start of the body", () => {
  expect(render("<p>Hi</p>", {}, "For {{ first_name }}").html).toMatch(
    /<body [^>]*><span style="display:none[^>]*>For Ana<\/span>/,
  );
});
