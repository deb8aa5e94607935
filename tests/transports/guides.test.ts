import { afterAll, beforeAll, expect, test } from "vitest";
import { guides } from "#transports/docs/guides.ts";
import { guideHtml } from "#transports/pages/service/guides.ts";
import { startService, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const NOBODY = { "X-Api-Key": null };
const get = (path: string) => service.get(path, NOBODY);

test("/docs lists every guide, and each is a page that asks nothing of another host", async () => {
  const list = (await get("/docs")).text.replaceAll("&#39;", "'");
  for (const { name, title, summary } of guides()) {
    expect(list).toContain(`href="/docs/${name}"`);
    expect(list).toContain(title);
    expect(list).toContain(summary);
    const { status, text, headers } = await get(`/docs/${name}`);
    expect([status, headers.get("content-type")], name).toEqual([200, "text/html; charset=utf-8"]);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("script-src");
    expect(text, name).toContain(`<h1 id=`);
    expect(
      text.match(/<(script|iframe)\b|\bsrc="(?!\/docs\/pictures\/)|<!-- |<link [^>]*href="[^/]/),
      name,
    ).toBeNull();
  }
  expect((await get("/docs/no-such-guide")).status).toBe(404);
});

test("every link of every page is answered, and its anchor is there", async () => {
  const pages = new Map<string, string>();
  const read = async (path: string) => {
    const known = pages.get(path) ?? (await get(path)).text;
    pages.set(path, known);
    return known;
  };
  for (const { name } of guides()) {
    const links = [...(await read(`/docs/${name}`)).matchAll(/<a href="([^"]+)"/g)].map(([, href]) => href!);
    for (const link of links.filter((href) => !href.startsWith("https://"))) {
      const [path, anchor] = link.split("#");
      const text = await read(path || `/docs/${name}`);
      expect(text, `${name}: ${link}`).toContain(anchor ? ` id="${anchor}"` : "<!doctype html>");
    }
  }
});

test("a guide is served as it is written, and /llms.txt names it", async () => {
  const { text: llms } = await get("/llms.txt");
  for (const { name, title, summary, markdown } of guides()) {
    const { text, headers } = await get(`/docs/${name}.md`);
    expect(text).toBe(markdown);
    expect(headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(llms).toContain(`[${title}](${service.internals.config.baseUrl}/docs/${name}.md): ${summary}`);
  }
});

test("HTML in a guide is left out, and what it puts into code is escaped", () => {
  const html = guideHtml(
    "# A\n\n<script>x</script>\n\nno <b>b</b> `a<b>`\n\n```\n<i>&\n```\n\n[x](segments.md#fields)",
  );
  expect(html).not.toMatch(/<script|<b>|<i>/);
  expect(html).toContain("a&lt;b&gt;");
  expect(html).toContain("&#60;i&#62;&#38;");
  expect(html).toContain('href="/docs/segments#fields"');
});
