import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let here: Scenario;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  here = await newScenario(service);
});

/** A record that was deleted, and can be restored. */
async function deleted(fields: { player_id: string; email: string }): Promise<string> {
  const id = await here.player({ first_name: "Eva", ...fields });
  await here.call("delete_player", { id });
  return id;
}
const recordOf = async (id: string) => {
  const [row] = await here.query(
    (sql) => sql<{ status: string; first_name: string | null; email: string | null }[]>`
      select status, first_name, email from players where property_id = ${here.id} and id = ${id}`,
  );
  return row;
};
const erase = (playerId: string) => here.call("data_deletion", { propertyId: here.id, playerId });

test("an erasure takes along the person's deleted record with the same player_id and address", async () => {
  const former = await deleted({ player_id: "E1", email: "eva@example.com" });
  const now = await here.player({ player_id: "E1", email: "eva@example.com", first_name: "Eva" });
  const told = await here.call("data_export", { propertyId: here.id, playerId: now });
  expect(JSON.stringify(told.audit_entries)).toContain(former);
  const { anonymized, shared_with } = await erase(now);
  expect(anonymized.players).toBe(2);
  expect(shared_with).toEqual([]);
  expect(await recordOf(former)).toEqual({ status: "erased", first_name: null, email: null });
});

test("a deleted record with the address alone, or the player_id alone, stays; the answer names the first", async () => {
  const other = await deleted({ player_id: "husband", email: "home@example.com" });
  const given = await deleted({ player_id: "E2", email: "before@example.com" });
  const { shared_with } = await erase(await here.player({ player_id: "E2", email: "home@example.com" }));
  expect(shared_with).toEqual([other]);
  expect(await recordOf(other)).toMatchObject({ first_name: "Eva", email: "home@example.com" });
  expect(await recordOf(given)).toMatchObject({ first_name: "Eva", email: "before@example.com" });
});

test("a legal hold on the deleted record refuses the erasure", async () => {
  const former = await here.player({ player_id: "E3", email: "held@example.com" });
  await here.call("set_legal_hold", { propertyId: here.id, playerId: former, legalHold: true });
  await here.query(
    (sql) => sql`update players set deleted_at = now() where property_id = ${here.id} and id = ${former}`,
  );
  const now = await here.player({ player_id: "E3", email: "held@example.com" });
  await expect(erase(now)).rejects.toMatchObject({ code: "legal_hold" });
});
