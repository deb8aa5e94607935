import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "#db/database.ts";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { type Directory, directoryChanged, openDirectory } from "#runtime/identity/directory.ts";
import { createLog } from "#runtime/log.ts";
import { testDatabase } from "../../support/database.ts";

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

test("a transaction's changes are forgotten before its caller hears that it is done, also while nobody is notified", async () => {
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

test("a look that began before a change answers who waits for it, and is not kept", async () => {
  const hash = await newKey();
  const looked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  let slow = false;
  const late: Database = {
    ...connected,
    asSystem: async (work, options) => {
      const isSlow = slow;
      slow = false;
      const found = await connected.asSystem(work, options);
      if (isSlow) {
        looked.resolve();
        await told.promise;
      }
      return found;
    },
  };
  const behind = await openDirectory({ ...late, listen: async () => {} }, createLog("silent"));
  try {
    slow = true;
    const first = behind.key(hash);
    const second = behind.key(hash);
    await looked.promise;
    await revoke(behind.forgetting(), hash);
    expect(await behind.key(hash)).toMatchObject({ is_active: false });
    told.resolve();
    expect(await Promise.all([first, second])).toMatchObject([{ is_active: true }, { is_active: true }]);
    expect(await behind.key(hash)).toMatchObject({ is_active: false });
  } finally {
    await behind.close();
  }
});

test("a key that there is not is asked for again, so that it is there once it is made", async () => {
  const { prefix, hash } = newApiKey();
  expect(await directory.key(hash)).toBeNull();
  expect(directory.hasSeenKey(hash)).toBe(false);
  await connected.asSystem(async (sql) => {
    await sql`
      insert into api_keys (property_id, name, key_prefix, key_hash, scopes)
      select id, 'test', ${prefix}, ${hash}, ${["read"]} from properties limit 1`;
  });
  const [found, again] = await Promise.all([directory.key(hash), directory.key(hash)]);
  expect(found).toMatchObject({ is_active: true });
  expect(again).toBe(found);
  expect(directory.hasSeenKey(hash)).toBe(true);
});

test("an answer that a busy process reads late does not set the database's clock back", async () => {
  const busy = { for: 0, seen: 0 };
  const asSystem: Database["asSystem"] = async (work, options) => {
    const answer = await connected.asSystem(work, options);
    if (busy.for > 0) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busy.for);
      busy.seen++;
    }
    return answer;
  };
  const late = await openDirectory({ ...connected, asSystem, listen: async () => {} }, createLog("silent"));
  busy.for = 1_000;
  await expect.poll(() => busy.seen).toBeGreaterThan(0);
  busy.for = 0;
  const [clock] = await connected.asSystem(
    (sql) => sql<{ now: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as now`,
  );
  expect(late.now()).toBeGreaterThan(clock!.now - 500);
  await late.close();
});
