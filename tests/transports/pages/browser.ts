import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Browser,
  type BrowserContext,
  type CDPSession,
  chromium,
  type Frame,
  type Page,
} from "playwright-core";
import { expect } from "vitest";
import { isFull } from "../../support/proof-size.ts";

/** Chromium draws its own windows too, even headless: for a third of the work, the shell draws the page alone. */
const SHELL = "/usr/bin/chromium-headless-shell";
const WHOLE = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** By its program. One that a process has opened serves all its test files, and ends with it. */
const open = new Map<string, Browser>();

/**
 * The browser of the machine, or another one that CHROMIUM names. The shell cannot show notifications. Null, with a line
 * that says so, where there is none.
 */
export async function openBrowser({ notifications = false } = {}): Promise<Browser | null> {
  const binaries = [process.env.CHROMIUM, ...(notifications ? [] : [SHELL]), ...WHOLE];
  const executablePath = binaries.find((path) => path && existsSync(path));
  if (!executablePath) {
    console.warn(
      "no Chromium on this machine: the pages are tested without a browser (apt-get install chromium)",
    );
    return null;
  }
  const earlier = open.get(executablePath);
  if (earlier?.isConnected()) return earlier;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  open.set(executablePath, browser);
  return browser;
}

export interface Screen {
  width: number;
  height: number;
  dark: boolean;
  scripts?: boolean;
}

/** A tab that keeps what a good page never has: messages of the console, failed requests, and those to other hosts. */
export async function openTab(
  browser: Browser,
  { width, height, dark, scripts = true }: Screen,
  home: string,
): Promise<{ page: Page; complaints: string[]; close(): Promise<void> }> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    javaScriptEnabled: scripts,
    deviceScaleFactor: width < 500 ? 2 : 1,
  });
  await context.grantPermissions(["notifications"], { origin: home });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      complaints.push(`console: ${message.text()} at ${message.location().url}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => {
    // The browser drops what a left page still waits for.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`failed: ${request.url()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(home)) complaints.push(`foreign: ${request.url()}`);
  });
  return { page, complaints, close: () => context.close() };
}

/** Works in a tab of its own, which has no complaint at the end but those that begin like one of the `expected`. */
export async function visit(
  browser: Browser,
  screen: Screen,
  home: string,
  work: (page: Page) => Promise<void>,
  expected: readonly string[] = [],
): Promise<void> {
  const { page, complaints, close } = await openTab(browser, screen, home);
  try {
    await work(page);
    expect(complaints.filter((one) => !expected.some((words) => one.startsWith(words)))).toEqual([]);
  } finally {
    await close();
  }
}

/** Takes a picture that someone looks at, into the folder that PICTURES names. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/**
 * Looks at a loaded page on each screen, by `name`: nobody is shut out, and nothing is cut off. Width and night are a
 * matter of CSS alone, so the page is not loaded again for each. Rules that do not depend on the layout are asked once
 * for the same shown elements, and those of the layout once for each size of them: the night changes colours alone.
 * Contrast is looked at once by day and once at night, and wherever colours meet that have not met before; of a page
 * that is `translated` in the latter case alone.
 *
 * Without PROOF=full, each size is seen by day or at night. The rules of the elements are asked on one screen, another
 * one for each page of a tab; those of the layout on that one and the narrowest; and contrast by day and at night
 * where colours meet that have not met before. A page that is `recolored`, and was seen in other colours, is looked at
 * for contrast alone.
 */
export async function inspect(
  page: Page,
  name: string,
  screens: Readonly<Record<string, Omit<Screen, "scripts">>>,
  { translated = false, recolored = false } = {},
): Promise<void> {
  const structures = new Set<string>();
  const layouts = new Set<string>();
  const looks = new Set<boolean>();
  const seen = isFull ? Object.entries(screens) : sampleOf(page, Object.entries(screens));
  const narrowest = Math.min(...seen.map(([, { width }]) => width));
  let scheme: string | undefined;
  for (const [screen, { width, height, dark }] of seen) {
    await page.setViewportSize({ width, height });
    const colorScheme = dark ? "dark" : "light";
    if (scheme !== colorScheme) await page.emulateMedia({ colorScheme });
    scheme = colorScheme;
    const about = `${name} on ${screen}`;
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(overflow, `${about} is wider than the screen`).toBeLessThanOrEqual(0);
    await picture(page, `${name}-${screen}`);
    const isNew = { look: !looks.has(dark), size: isFull || width === narrowest };
    if (!isNew.look && !isNew.size) continue;
    const { structure, colors } = await page.evaluate<Shown>(SHOWN);
    const layout = `${width} ${height} ${structure}`;
    const rules = rulesFor({
      structure: isFull ? !structures.has(structure) : !recolored && structures.size === 0,
      color: (isFull && isNew.look && !translated) || colors.some((one) => !judgedColors.has(one)),
      layout: (isFull || !recolored) && isNew.size && !layouts.has(layout),
    });
    if (rules) expect(await violations(page, rules), about).toEqual([]);
    structures.add(structure);
    layouts.add(layout);
    looks.add(dark);
    for (const one of colors) judgedColors.add(one);
  }
}

const inspected = new WeakMap<Page, number>();

/** Each size once, by day or at night in turn, from another one on for each page that a tab shows. */
function sampleOf<T extends Omit<Screen, "scripts">>(page: Page, screens: [string, T][]): [string, T][] {
  const turn = inspected.get(page) ?? 0;
  inspected.set(page, turn + 1);
  const sizes = [...Map.groupBy(screens, ([, { width, height }]) => `${width} ${height}`).values()];
  const seen = sizes.length === 1 ? screens : sizes.map((same, index) => same[(turn + index) % same.length]!);
  const from = turn % seen.length;
  return [...seen.slice(from), ...seen.slice(0, from)];
}

interface Shown {
  /** Which elements are shown, and as what. */
  structure: string;
  /** The colours of each text, with what lies behind it and whether it is large; of a link with the text around it. */
  colors: string[];
}

const judgedColors = new Set<string>();

const SHOWN = `(() => {
  const behind = new Map();
  const colors = new Set();
  const structure = [];
  for (const one of document.querySelectorAll("html, body, body *")) {
    const style = getComputedStyle(one);
    const { backgroundColor, backgroundImage, opacity, color, textDecorationLine } = style;
    const around = behind.get(one.parentElement) ?? "";
    const own = [backgroundColor, backgroundImage, opacity].join(" ");
    const isOpaque = /^rgb\\(.* none 1$/.test(own);
    behind.set(one, isOpaque ? own : own === "rgba(0, 0, 0, 0) none 1" ? around : around + "; " + own);
    const isShown = one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    structure.push(isShown ? [style.display, style.clip, style.clipPath].join() : "");
    const hasText = [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== "");
    if (!isShown || !(hasText || one.matches("input, select, textarea"))) continue;
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const link = one.tagName === "A" ? getComputedStyle(one.parentElement).color + textDecorationLine : "";
    colors.add([color, isLarge, link, behind.get(one)].join(" on "));
  }
  return { structure: structure.join("|"), colors: [...colors] };
})()`;

/**
 * The buttons, fields and links of the page that a finger misses: below 24 px (WCAG 2.5.8). A link inside a sentence is
 * as high as its line, and a title whose link covers its card is as large as the card.
 */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll("button, summary, a, input:not([type=hidden])")]
    .filter((one) => one.checkVisibility() && !one.matches(".skip"))
    .filter((one) => one.tagName !== "A" || ![...one.parentElement.childNodes].some((beside) => beside.nodeType === 3 && beside.textContent.trim() !== ""))
    .filter((one) => getComputedStyle(one, "::after").position !== "absolute")
    .map((one) => ({ text: one.textContent.trim() || one.name, box: one.getBoundingClientRect() }))
    .filter(({ box }) => box.height < 24 || box.width < 24)
    .map(({ text, box }) => text + " " + Math.round(box.width) + "x" + Math.round(box.height))`);
}

/**
 * The texts, controls and pictures of the page that a reader sees a part of at most: beyond the sides of the window, or
 * hidden by the border of their box. Also a page that scrolls sideways.
 */
export function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const cut = [];
    const about = (one) => one.tagName.toLowerCase() + " " + one.textContent.trim().slice(0, 40);
    if (document.documentElement.scrollWidth > innerWidth) cut.push("the page scrolls sideways");
    for (const one of document.body.querySelectorAll("*")) {
      if (!one.checkVisibility() || one.closest(".unseen, .skip, svg *")) continue;
      const { left, right, width } = one.getBoundingClientRect();
      if (width > 0 && (left < -1 || right > innerWidth + 1)) cut.push("beyond the window: " + about(one));
      const hides = /hidden|clip/.test(getComputedStyle(one).overflow);
      if (hides && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1))
        cut.push("hidden: " + about(one));
    }
    return cut;
  })()`);
}

/** Each width by day and at night. */
export function dayAndNight(widths: Readonly<Record<string, { width: number; height: number }>>) {
  return Object.fromEntries(
    Object.entries(widths).flatMap(([name, size]) => [
      [`${name}-light`, { ...size, dark: false }],
      [`${name}-dark`, { ...size, dark: true }],
    ]),
  );
}

const ALL = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
const OF_COLOR = ["color-contrast", "link-in-text-block"];
const OF_LAYOUT = ["target-size", "scrollable-region-focusable"];

type RuleKinds = Record<"structure" | "color" | "layout", boolean>;

/** The rules of axe that must be asked; null when all have been. */
function rulesFor({ structure, color, layout }: RuleKinds): object | null {
  const off = Object.fromEntries(OF_COLOR.map((rule) => [rule, { enabled: false }]));
  if (structure) return color ? ALL : { ...ALL, rules: off };
  const values = [...(color ? OF_COLOR : []), ...(layout ? OF_LAYOUT : [])];
  return values.length > 0 ? { runOnly: { type: "rule", values } } : null;
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Resolves when no part of the page waits for its content. */
export async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate("document.querySelector('[aria-busy]') === null")).toBe(true);
}

/** Directly to the debugger, which takes half as long with a script of this size. */
async function giveAxe(page: Page | Frame): Promise<void> {
  if (!("mainFrame" in page)) return void (await page.evaluate(`${AXE}; undefined`));
  const session = sessions.get(page) ?? page.context().newCDPSession(page);
  sessions.set(page, session);
  await (await session).send("Runtime.evaluate", { expression: `${AXE}; undefined` });
}

const sessions = new WeakMap<Page, Promise<CDPSession>>();

/** The violations of WCAG 2.2 AA and good practice that axe-core finds on the page, with the elements. */
export async function violations(page: Page | Frame, rules: object = ALL): Promise<string[]> {
  // The page's policy lets no script in. The debugger evaluates this one beside it.
  if (await page.evaluate("!('axe' in window)")) await giveAxe(page);
  // Frames have no axe in them, and would be waited for.
  const options = { ...rules, resultTypes: ["violations"], iframes: false };
  return page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map((one) => one.html + " " + one.failureSummary).join(" | ")))`);
}
