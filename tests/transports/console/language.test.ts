import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownPath } from "#transports/console/guard.ts";
import { english } from "#transports/console/words/english/english.ts";
import { clock, counted, languageOf, money, speaking } from "#transports/console/words/say.ts";
import { spanish } from "#transports/console/words/spanish/spanish.ts";
import { plantRows } from "../../contract/planted-rows.ts";
import { sourcesIn, textOf } from "../../support/checkout/source-files.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { formBrowser, signedIn } from "./form-browser.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
  const scenario = scenarioIn(service);
  const propertyId = service.tenant.id;
  const player = await scenario.player({ player_id: "spanish-1", email: "ana@example.com" });
  await scenario.crowd(3);
  const { id: segment } = await scenario.call("create_segment", {
    name: "Oro",
    logic: "or",
    conditions: [{ field: "last_visit_at", operator: "in_last_days", value: 30 }],
    groups: [{ logic: "and", conditions: [{ field: "adt", operator: "gte", value: 100 }] }],
  });
  const settings = { recipe: "win_back", segment_id: segment };
  const { journey } = await scenario.call("create_journey_from_recipe", { propertyId, settings });
  await scenario.call("update_journey", {
    id: journey.id,
    description: "Para quienes no vienen.",
  });
  await scenario.call("publish_journey", { journeyId: journey.id, propertyId });
  await scenario.call("enroll_players", { journeyId: journey.id, propertyId, playerIds: [player] });
  await scenario.campaign({ name: "Puntos dobles" });
  await scenario.send(await scenario.campaign({ name: "Almuerzo" }));
  await service.idle();
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await plantRows(sql, propertyId);
  await sql.end();
});
afterAll(() => service?.stop());

/** The texts of a record, without the values that its sentences take. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value === "function") {
    const marks = Array.from({ length: value.length }, () => "¤");
    return String(value(...marks)).split("¤");
  }
  return Object.values((value ?? {}) as object).flatMap(textsIn);
}

const plain = (text: string) => text.replace(/\s+/g, " ").trim();
const OWN = new Set(textsIn(spanish).map(plain));
/** English texts that are no Spanish ones too. */
const FOREIGN = [...new Set(textsIn(english).map(plain))].filter(
  (text) => /[a-z]{2}/i.test(text) && !OWN.has(text),
);

const SIGNS: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

/** The texts of a page that are for people, without those that say that they are English. */
function shownTexts(markup: string): string[] {
  const own = markup
    .replace(/<(style|pre|code|textarea)\b.*?<\/\1>/gs, "")
    .replace(/<(\w+)[^>]* lang="en"[^>]*>.*?<\/\1>/gs, "");
  const spoken = [...own.matchAll(/ (?:aria-label|placeholder|title|alt|label)="([^"]*)"/g)].map(
    ([, text]) => text!,
  );
  return [...spoken, ...own.split(/<[^>]*>/)]
    .map((text) => plain(text.replace(/&(?:amp|lt|gt|quot|#39);/g, (sign) => SIGNS[sign]!)))
    .filter((text) => text !== "");
}

/** The English texts of the record that a page shows. A single word counts where it stands by itself. */
function foreignTexts(markup: string, path: string): string[] {
  // The values of a record are codes as programs know them.
  const codes = /\/(records|consents)\//.test(path) ? spanish.labels : {};
  const texts = shownTexts(markup).filter((shown) => !Object.hasOwn(codes, shown.toLowerCase()));
  return texts.flatMap((shown) =>
    FOREIGN.filter((text) => shown === text || (text.includes(" ") && shown.includes(text))).map(
      (text) => `${text} (in: ${shown})`,
    ),
  );
}

/** Pages of one kind have one pattern: ids, names of tables and values are left out. */
function patternOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://console.invalid");
  const kind = pathname
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ":id")
    .replace(/(records|nodes)\/[^/]+/, "$1/:name");
  return `${kind}?${[...searchParams.keys()].sort().join("&")}`;
}

describe("in Spanish", () => {
  test("every page of the console speaks Spanish alone, with all its parts", {
    timeout: 120_000,
  }, async () => {
    const one = await signedIn(service);
    await one.post("/console/language", { language: "es", to: "/console" });
    const seen = new Map<string, string>();
    const queue = [
      "/console",
      "/console/nowhere/at/all",
      "/console/players/00000000-0000-7000-8000-000000000000",
    ];
    const foreign: string[] = [];
    const chips = new Set<string>();
    while (queue.length > 0) {
      const path = queue.shift()!;
      const { text, headers } = await one.get(path);
      if (!headers.get("content-type")?.startsWith("text/html")) continue;
      expect(text, path).toContain('<html lang="es">');
      foreign.push(...foreignTexts(text, path).map((found) => `${path}: ${found}`));
      // A sentence that is put together wrongly leaves a trace of its values. A field of Liquid ends with two braces.
      const broken = shownTexts(text).filter((shown) => /^\}|(?<!\})\}$|undefined|\[object/.test(shown));
      foreign.push(...broken.map((found) => `${path}: ${found}`));
      for (const [, chip] of text.matchAll(/<span class="chip \w+">([^<]*)</g)) chips.add(chip!);
      for (const [, link] of text.matchAll(/(?:href|data-part|action)="(\/console[^"#]*|\?[^"#]*)/g)) {
        const to = new URL(link!.replaceAll("&amp;", "&"), new URL(path, "http://console.invalid"));
        const found = to.pathname + to.search;
        if (seen.has(patternOf(found)) || /\/(errors|message|picture|live)(\?|$)/.test(found)) continue;
        seen.set(patternOf(found), found);
        queue.push(found);
      }
    }
    expect(foreign).toEqual([]);
    const labels = new Set(Object.values(spanish.labels));
    const planted = /^x[0-9a-f]{12}$/;
    expect([...chips].filter((chip) => !labels.has(chip) && !planted.test(chip))).toEqual([]);
    expect(seen.size).toBeGreaterThan(60);
  });

  test("a form that is refused, a fault and the way in speak Spanish too", async () => {
    const visitor = formBrowser(service);
    await visitor.post("/console/language", { language: "es", to: "/console/sign-in" });
    const one = await signedIn(service, { role: "analyst" });
    one.cookies.set("console_language", "es");
    const { text: keys } = await one.get("/console/settings/keys");
    const pages = {
      "/console/sign-in": await visitor.get("/console/sign-in"),
      "a wrong password": await visitor.post("/console/sign-in", { email: "ana@example.com", password: "x" }),
      "/password-reset": await visitor.get("/password-reset"),
      "/password-reset/token": await visitor.get("/password-reset/token"),
      "a wrong address": await visitor.post("/password-reset", { email: "ana" }),
      "a wrong token": await visitor.post("/password-reset/token", { password: "twelve characters" }),
      "a form of another site": await one.post("/console/sign-out", {}, { "sec-fetch-site": "cross-site" }),
      "no right": await one.post("/console/campaigns/new", { name: "Otra" }),
      "an analyst's keys": { text: keys },
    };
    for (const [name, { text }] of Object.entries(pages)) {
      expect([name, ...foreignTexts(text, "")]).toEqual([name]);
      expect(text, name).toContain('<html lang="es">');
    }
    expect(pages["no right"].text).toContain("Su rol no lo permite");
    // The operation's own sentence is as it is, and says that it is English.
    expect(pages["no right"].text).toMatch(/<p><span lang="en">[^<]+<\/span><\/p>/);
  });
});

describe("the language", () => {
  const languageIn = (text: string) => /<html lang="(\w+)">/.exec(text)?.[1];

  test("is the browser's, until the person chooses one", async () => {
    const one = formBrowser(service);
    const german = { "accept-language": "de, es-MX;q=0.9, en;q=0.8" };
    expect(languageIn((await one.get("/console/sign-in", german)).text)).toBe("es");
    expect(languageIn((await one.get("/console/sign-in")).text)).toBe("en");
    const answer = await one.post("/console/language", {
      language: "en",
      to: "/console/sign-in?to=%2Fconsole",
    });
    expect([answer.status, answer.location]).toEqual([303, "/console/sign-in?to=%2Fconsole"]);
    expect(answer.setCookies).toEqual([
      "console_language=en; Max-Age=31536000; Path=/; HttpOnly; SameSite=Strict",
    ]);
    expect(languageIn((await one.get("/console/sign-in", german)).text)).toBe("en");
  });

  test("is not changed by another site's form, nor to one that there is not", async () => {
    const one = formBrowser(service);
    const foreign = await one.post(
      "/console/language",
      { language: "es" },
      { "sec-fetch-site": "cross-site" },
    );
    expect([foreign.status, foreign.setCookies]).toEqual([403, []]);
    await one.post("/console/language", { language: "__proto__" });
    expect(languageIn((await one.get("/console/sign-in")).text)).toBe("en");
  });

  test.each([
    ["/console/players?q=1", "/console/players?q=1"],
    ["/password-reset", "/password-reset"],
    ["https://evil.example/console", "/console"],
    ["//evil.example/console", "/console"],
    ["/password-resets", "/console"],
    ["/api/players", "/console"],
  ])("leads from %s back to %s", (to, back) => {
    expect(ownPath(to)).toBe(back);
  });

  test("writes numbers, money, times and plurals as its people do", () => {
    const at = new Date("2026-11-24T20:05:00Z");
    const written = () => [
      counted(1, "player"),
      counted(1_234, "player"),
      counted(1_000_000, "player"),
      money(12.5, "USD"),
      clock(at, "America/Los_Angeles").replaceAll(/\s/g, " "),
    ];
    expect(speaking("en", written)).toEqual([
      "1 player",
      "1,234 players",
      "1,000,000 players",
      "$12.50",
      "Nov 24, 2026, 12:05 PM",
    ]);
    expect(speaking("es", written)).toEqual([
      "1 jugador",
      "1,234 jugadores",
      "1,000,000 de jugadores",
      "$12.50",
      "24 nov 2026, 12:05",
    ]);
    expect(languageOf("fr", null, "es-419, en;q=0.9")).toBe("es");
  });

  test("is kept in the records alone: no page has words of its own", () => {
    const files = sourcesIn("transports").filter(
      (path) => path.startsWith("transports/console/") && !path.startsWith("transports/console/words/"),
    );
    expect(files.length).toBeGreaterThan(60);
    const own = files.flatMap((path) =>
      [...textOf(path).matchAll(OWN_WORDS)].map(([found]) => `${path}: ${found}`),
    );
    expect(own, "Put it into the records of transports/console/words.").toEqual([]);
  });
});

/** A text between tags, an attribute that is read out, or the words of a field, a heading or a button. */
const OWN_WORDS =
  />\s*[A-Z][a-z]+[^<>{}$=;()]*<\/|\b(?:aria-label|placeholder|title|alt)="[A-Z][^"$]*"|\b(?:label|hint|heading|question|text|yes|note|caption|placeholder|legend): ["`][A-Za-z][^"`/]*["`]/g;
