import { afterAll, beforeAll, expect, test } from "vitest";
import { Killed, loseWorker, runNext } from "../../support/job-runner.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service.stop());

const CSV = `player_id\n${Array.from({ length: 3_000 }, (_, n) => `K${n}`).join("\n")}\n`;

/** An import of 3,000 rows by this credential in a new property, of which 1,000 are written. */
async function halfDone(
  credential: (propertyId: string) => Promise<Record<string, string | null>>,
): Promise<{ propertyId: string; id: string }> {
  const { id: propertyId } = await service.newProperty();
  const headers = { "X-Property-Id": propertyId, ...(await credential(propertyId)) };
  const { status, body } = await service.post("/api/import_jobs", { csv: CSV }, headers);
  expect(status).toBe(202);
  const processed = async () => (await service.call("get_import_job", { id: body.id }, propertyId)).processed;
  for (let left = 1; (await processed()) === 0; left += 1) {
    await service.internals.db.asSystem(
      (sql) =>
        sql`update queue set attempts = 9 where name = 'import_players' and property_id = ${propertyId}`,
    );
    const killed = runNext(service, propertyId, { only: "import_players", killedAfter: { left } });
    await expect(killed).rejects.toThrow(Killed);
    await loseWorker(service, propertyId);
  }
  return { propertyId, id: body.id };
}

async function ended({ propertyId, id }: { propertyId: string; id: string }) {
  await runNext(service, propertyId, { only: "import_players" });
  const { status, processed, error } = await service.call("get_import_job", { id }, propertyId);
  return { status, processed, error };
}

test("an import stops at its next batch once the key that started it is revoked, and its rows stand", async () => {
  let keyId = "";
  const half = await halfDone(async (property_id) => {
    const { api_key, key } = await service.call("create_api_key", { property_id, name: "nightly" });
    keyId = key.id;
    return { "X-Api-Key": api_key };
  });
  await service.call("revoke_api_key", { key_id: keyId });
  expect(await ended(half)).toEqual({
    status: "failed",
    processed: 1_000,
    error:
      "The API key that started the import has been revoked. Import the rest by another one: the rows that are written stand.",
  });
});

test("an import stops once the person who started it has left", async () => {
  let userId = "";
  const half = await halfDone(async (property_id) => {
    const { id: user_id, token } = await service.signIn({ role: null });
    userId = user_id;
    await service.call("grant_membership", { property_id, user_id, role: "manager" });
    return { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  });
  await service.call("revoke_membership", { user_id: userId, property_id: half.propertyId });
  expect(await ended(half)).toMatchObject({
    status: "failed",
    processed: 1_000,
    error: expect.stringMatching(/^The person who started the import may no longer act in this property\./),
  });
});

test("an import of a key that has only expired goes on", async () => {
  let keyId = "";
  const half = await halfDone(async (property_id) => {
    const { api_key, key } = await service.call("create_api_key", { property_id, name: "nightly" });
    keyId = key.id;
    return { "X-Api-Key": api_key };
  });
  await service.internals.db.asSystem(
    (sql) => sql`update api_keys set expires_at = now() where id = ${keyId}`,
  );
  expect(await ended(half)).toEqual({ status: "completed", processed: 3_000, error: null });
});
