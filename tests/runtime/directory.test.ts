import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "#db/client.ts";
import { type Directory, directoryChanged, openDirectory } from "#runtime/directory.ts";
import { newApiKey } from "#runtime/keys.ts";
import { createLog } from "#runtime/log.ts";
import { testDatabase } from "../support/database.ts";

const database = await testDatabase();
const connected = connect(database.url, { size: 2 });
let directory: Directory;
let db: Database;
beforeAll(async () => {
  // The notification channel is down.
  directory = await openDirectory({ ...connected, listen: async () => {} }, createLog("silent"));
  db = directory.forgetting();
});
afterAll(async () => {
  await directory.close();
  await connected.close();
  await database.drop();
});

async function newKey(): Promise<Buffer> {
  const { prefix, hash } = newApiKey();
  await connected.asSystem(async (sql) => {
    const [property] = await sql<{ id: string }[]>`
      insert into properties (name, slug) values (${prefix}, ${`s${hash.toString("hex").slice(0, 20)}`}) returning id`;
    await sql`
      insert into api_keys (property_id, name, key_prefix, key_hash, scopes)
      values (${property!.id}, 'test', ${prefix}, ${hash}, ${["read"]})`;
  });
  return hash;
}

const revoke = (through: Database, hash: Buffer) =>
  through.asSystem(async (sql) => {
    await sql`update api_keys set is_active = false where key_hash = ${hash}`;
    await directoryChanged(sql);
  });

test("what a transaction changes is forgotten before it is told to be done, also while nobody is notified", async () => {
  for (let round = 0; round < 10; round++) {
    const hash = await newKey();
    expect(await directory.key(hash)).toMatchObject({ is_active: true });
    await revoke(db, hash);
    expect(await directory.key(hash)).toMatchObject({ is_active: false });
  }
});

test("a change that was undone costs no more than another look", async () => {
  const hash = await newKey();
  const undone = db.asSystem(async (sql) => {
    await sql`update api_keys set is_active = false where key_hash = ${hash}`;
    await directoryChanged(sql);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  expect(await directory.key(hash)).toMatchObject({ is_active: true });
});
