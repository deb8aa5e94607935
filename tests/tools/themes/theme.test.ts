import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { contrast, nearestPassing } from "#tools/themes/contrast.ts";
import { checkLegible } from "#tools/themes/legible.ts";
import { DEFAULT_THEME } from "#tools/themes/theme.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const set = (theme: object, property = service.tenant.id) =>
  service.call("set_property_theme", theme, property);
const get = (property = service.tenant.id) => service.call("get_property_theme", {}, property);

describe("contrast", () => {
  // From the examples of WCAG 2.2 and of the W3C's own checker.
  test.each([
    ["#000000", "#ffffff", 21],
    ["#777777", "#ffffff", 4.48],
    ["#767676", "#ffffff", 4.54],
    ["#ff0000", "#ffffff", 4],
    ["#0000ff", "#ffffff", 8.59],
  ])("of %s on %s is %f", (one, other, ratio) => {
    expect(contrast(one, other)).toBeCloseTo(ratio, 1);
    expect(contrast(other, one)).toBe(contrast(one, other));
  });

  test("the nearest colour passes, and one step back towards the wish fails", () => {
    const demand = { ground: "#ffffff", least: 4.5 };
    for (const wish of ["#ff8800", "#33cc33", "#88aaff", "#ffffff", "#ffd700"]) {
      const nearest = nearestPassing(wish, [demand])!;
      expect(contrast(nearest, "#ffffff"), wish).toBeGreaterThanOrEqual(4.5);
      expect(contrast(nearest, "#ffffff"), wish).toBeLessThan(4.75);
    }
    expect(nearestPassing("#7a1f2b", [demand])).toBe("#7a1f2b");
    expect(nearestPassing("#808080", [demand, { ground: "#000000", least: 7 }])).toBeNull();
  });
});

describe("a theme", () => {
  test("is the default until it is set, and keeps what a change leaves out", async () => {
    const { id } = await service.newTenant();
    expect(await get(id)).toEqual(DEFAULT_THEME);
    await set({ name: "Azure Bay", light: { brand: "#0B4F8A" } }, id);
    const theme = await set({ language: "es" }, id);
    expect(theme).toMatchObject({ name: "Azure Bay", language: "es", light: { brand: "#0b4f8a" } });
    expect(theme.dark).toEqual(DEFAULT_THEME.dark);
    expect(await get(id)).toEqual(theme);
  });

  test("that people cannot read is refused, and the colour that it names passes", async () => {
    const refused = await set({ light: { brand: "#ff9900" } }).catch((fault) => fault);
    expect(refused.code).toBe("invalid");
    expect(refused.details.map(({ field }: { field: string }) => field)).toEqual([
      "light.brand",
      "light.on_brand",
    ]);
    const nearest = /nearest colour that passes is (#[0-9a-f]{6})/.exec(refused.details[0].message)![1]!;
    expect((await set({ light: { brand: nearest } })).light.brand).toBe(nearest);
    const dark = await set({ dark: { ink: "#333333", line: "#222222" } }).catch((fault) => fault);
    expect(dark.details.map(({ field }: { field: string }) => field)).toEqual(["dark.ink", "dark.line"]);
  });

  test("refuses a logo that is no picture, and a link that is not https", async () => {
    for (const wrong of [
      { logo: "data:image/svg+xml;base64,PHN2Zz4=" },
      { logo: "data:image/png;base64,PHNjcmlwdD4=" },
      { logo: `data:image/png;base64,iVBORw0KGgo${"A".repeat(44_000)}` },
      { responsible_gaming_url: "javascript:alert(1)" },
      { join_url: "http://example.com/join" },
      { light: { brand: "red" } },
      { light: { paint: "#000000" } },
      {},
    ]) {
      expect((await set(wrong).catch((fault) => fault)).code, JSON.stringify(wrong).slice(0, 60)).toBe(
        "invalid",
      );
    }
  });

  test("is not for an API key to change, and is each property's own", async () => {
    const { status } = await service.post("/api/functions/set-property-theme", { name: "Mine" });
    expect(status).toBe(403);
    const rival = await service.newTenant();
    expect(await service.call("get_property_theme", {}, rival.id)).toEqual(DEFAULT_THEME);
  });

  test("is served as a style sheet and a logo, which a browser keeps until they change", async () => {
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await set({ logo: `data:image/png;base64,${png}` });
    const { id } = await service.call("create_player", { player_id: "p" }, service.tenant.id);
    const { url } = await service.call(
      "create_player_link",
      { playerId: id, to: "inbox", propertyId: service.tenant.id },
      service.tenant.id,
    );
    const html = await (await fetch(service.baseUrl + new URL(url).pathname)).text();
    const style = /href="(\/theme\/[^"]+\.css)"/.exec(html)![1]!;
    const logo = /src="(\/theme\/[^"]+\/logo)"/.exec(html)![1]!;
    const sheet = await fetch(service.baseUrl + style);
    expect(sheet.headers.get("cache-control")).toContain("immutable");
    expect(await sheet.text()).toMatch(/--brand:light-dark\(#[0-9a-f]{6},#[0-9a-f]{6}\)/);
    const picture = await fetch(service.baseUrl + logo);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).toString("base64")).toBe(png);
    await set({ light: { accent: "#7a4a00" } });
    const before = await fetch(service.baseUrl + style);
    expect(before.headers.get("cache-control")).toBe("public, max-age=60");
  });
});

test("the default theme is legible", () => {
  expect(() => checkLegible(DEFAULT_THEME)).not.toThrow();
});
