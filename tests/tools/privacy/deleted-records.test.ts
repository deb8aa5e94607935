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

test("an erasure takes along a record that was merged into the deleted one", async () => {
  const duplicate = await here.player({
    player_id: "E4-twin",
    email: "eva.twin@example.com",
    first_name: "Eva",
  });
  const former = await here.player({ player_id: "E4", email: "eva4@example.com", first_name: "Eva" });
  await here.call("merge_players", { propertyId: here.id, playerId: former, duplicateId: duplicate });
  await here.call("delete_player", { id: former });
  await erase(await here.player({ player_id: "E4", email: "eva4@example.com" }));
  for (const id of [former, duplicate])
    expect(await recordOf(id)).toEqual({ status: "erased", first_name: null, email: null });
});

test("a deleted record with another birth date is another person's", async () => {
  const husband = await here.player({
    player_id: "E5",
    email: "home5@example.com",
    birth_date: "1970-01-01",
  });
  await here.call("delete_player", { id: husband });
  const wife = { player_id: "E5", email: "home5@example.com", birth_date: "1972-02-02" };
  const { shared_with } = await erase(await here.player(wife));
  expect(shared_with).toEqual([husband]);
  expect((await recordOf(husband))!.status).toBe("active");
});

test("the self-exclusion of the deleted record goes on for the player_id", async () => {
  const former = await deleted({ player_id: "E6", email: "eva6@example.com" });
  const now = await here.player({ player_id: "E6", email: "eva6@example.com" });
  await here.query(
    (sql) => sql`
      update players set status = 'self_excluded' where property_id = ${here.id} and id = ${former}`,
  );
  await erase(now);
  const again = await here.call("create_player", { player_id: "E6", email: "eva6.new@example.com" });
  expect(again.status).toBe("self_excluded");
});

test("another player with an address of the deleted record is named, because the address is barred", async () => {
  const phone = "+17025550148";
  await here.call("delete_player", {
    id: await here.player({ player_id: "E7", email: "old7@example.com", phone }),
  });
  const other = await here.player({ player_id: "heir", email: "old7@example.com" });
  const { shared_with } = await erase(
    await here.player({ player_id: "E7", email: "new7@example.com", phone }),
  );
  expect(shared_with).toEqual([other]);
});
