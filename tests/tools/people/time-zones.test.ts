import { afterAll, beforeAll, expect, test } from "vitest";
import { timeZoneOf } from "#tools/people/time-zones.ts";
import { textOf } from "../../support/checkout/source-files.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const WRITTEN = " america/new_york";
const STORED = "America/New_York";

test("every way in stores a time zone by its one name", async () => {
  const { call, tenant } = service;
  const property = await call("update_property", { propertyId: tenant.id, timezone: WRITTEN }, tenant.id);
  expect(property.timezone).toBe(STORED);
  const made = await service.post("/api/players", { player_id: "z1", timezone: WRITTEN });
  expect(made.body.timezone).toBe(STORED);
  const { body: changed } = await service.request("PATCH", `/api/players/${made.body.id}`, {
    body: { timezone: "US/Pacific" },
  });
  expect(changed.timezone).toBe("America/Los_Angeles");
  await service.post("/api/import_jobs", { csv: "player_id,timezone\nz2,us/eastern\n" });
  await service.idle();
  const found = await service.get("/api/players?timezone.eq=US/Eastern&select=player_id,timezone");
  expect(found.body).toEqual([{ player_id: "z2", timezone: STORED }]);
  const preview = await call(
    "segment_preview",
    { conditions: [{ field: "timezone", operator: "eq", value: "AMERICA/NEW_YORK" }] },
    tenant.id,
  );
  expect(preview.count).toBe(1);
  const game = { name: "Spin", type: "spin_wheel", reset_timezone: WRITTEN };
  expect((await call("create_game", game, tenant.id)).reset_timezone).toBe(STORED);
});

test("a misspelt time zone is refused with the name that may be meant", async () => {
  const { status, body } = await service.post("/api/players", { timezone: "America/NewYork" });
  expect([status, body.details[0].field]).toEqual([400, "timezone"]);
  expect(body.error).toMatch(/did you mean America\/New_York/);
  const filtered = await service.get("/api/players?timezone.eq=Mars/Olympus");
  expect([filtered.status, filtered.body.details[0].field]).toEqual([400, "timezone.eq"]);
});

test("the current name of a zone is kept, and a former one becomes it", () => {
  expect(timeZoneOf("Asia/Kolkata")).toBe("Asia/Kolkata");
  expect(timeZoneOf("europe/kiev")).toBe("Europe/Kyiv");
  expect(timeZoneOf("America/Indianapolis")).toBe("America/Indiana/Indianapolis");
  for (const text of ["", "+05:00", "Mars/Olympus", "GMT+5"]) expect(timeZoneOf(text)).toBeNull();
});

test("the zones of places have their one name", () => {
  const names = textOf("db/migrations/0006_places.sql").match(/\b[A-Z][a-z]+\/[A-Z][A-Za-z_/-]+/g) ?? [];
  expect(names.length).toBeGreaterThan(100);
  expect([...new Set(names)].filter((name) => timeZoneOf(name) !== name)).toEqual([]);
});
