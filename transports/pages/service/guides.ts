import { html, raw } from "hono/html";
import { Marked, type Tokens } from "marked";
import { type Guide, guides, pictureBytes, pictures, relinked } from "#transports/docs/guides.ts";
import type { Http } from "#transports/http/handlers.ts";
import { type Html, respond } from "#transports/pages/frame/page.ts";

/** Mounts the guides: the list at /docs, and each guide as a page and as its Markdown. */
export function mountGuides(app: Http): void {
  for (const name of pictures()) {
    const headers = { ...PICTURE_HEADERS, "content-type": PICTURE_TYPES[name.slice(-3)]! };
    app.get(`/docs/pictures/${name}`, () => new Response(pictureBytes(name), { headers }));
  }
  app.get("/docs", () => guidePage("Guides", listOf(guides())));
  for (const guide of guides()) {
    let article: Html | undefined;
    app.get(`/docs/${guide.name}`, () => {
      article ??= html`${navigation(guide)}<article>${raw(guideHtml(guide.markdown))}</article>`;
      return guidePage(guide.title, article);
    });
    app.get(`/docs/${guide.name}.md`, () => new Response(guide.markdown, { headers: MARKDOWN_HEADERS }));
  }
}

const PICTURE_TYPES: Readonly<Record<string, string>> = { svg: "image/svg+xml", png: "image/png" };
const PICTURE_HEADERS = {
  "cache-control": "public, max-age=300",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
  "x-content-type-options": "nosniff",
};
function guidePage(title: string, content: Html): Promise<Response> {
  const body = html`<main class="guide">${content}</main>`;
  return respond({ title, body, styles: ["guide.css"], headers: { "cache-control": "no-cache" } });
}

const MARKDOWN_HEADERS = {
  "content-type": "text/markdown; charset=utf-8",
  "cache-control": "public, max-age=300",
  "x-content-type-options": "nosniff",
};

function listOf(all: readonly Guide[]): Html {
  const items = all.map(
    ({ name, title, summary }) => html`<li><a href="/docs/${name}">${title}</a><br>${summary}</li>`,
  );
  return html`<article class="all"><p class="from">Player Marketing Service</p><h1>Guides</h1>
<p><a href="/docs/api">API reference, with requests to try</a></p><ul class="guides">${items}</ul></article>`;
}

function navigation(current: Guide): Html {
  const links = guides().map(({ name, title }) => {
    const here = name === current.name ? html`aria-current="page"` : "";
    return html`<a href="/docs/${name}" ${here}>${title}</a>`;
  });
  return html`<nav aria-label="Guides"><a href="/docs">All guides</a>${links}<a href="/docs/api">API reference</a></nav>`;
}

const markdown = new Marked({
  // Addresses in the text are examples, not links.
  tokenizer: { url: () => undefined },
  renderer: {
    // The only HTML in a guide is the comments around its generated parts.
    html: () => "",
    heading({ tokens, depth, text }: Tokens.Heading) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>`;
    },
    // A wide table scrolls by itself, so that the page does not.
    table(token: Tokens.Table) {
      const row = (cells: Tokens.TableCell[]) =>
        `<tr>${cells.map((cell) => this.tablecell(cell)).join("")}</tr>`;
      const rows = token.rows.map(row).join("");
      return `<div class="table" tabindex="0"><table><thead>${row(token.header)}</thead><tbody>${rows}</tbody></table></div>`;
    },
    code({ text }: Tokens.Code) {
      return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
    },
  },
});

/** A guide as HTML, with its links to others as /docs/<name>. */
export function guideHtml(text: string): string {
  return markdown.parse(
    relinked(
      text,
      (name) => `/docs/${name}`,
      (name) => `/docs/pictures/${name}`,
    ),
    { async: false },
  );
}

/** A heading's anchor as GitHub makes it, so that a link works here and there. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
