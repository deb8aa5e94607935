import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { restoreBackup } from "#db/backup/restore.ts";
import { takeBackup } from "#db/backup/take.ts";
import { migrate } from "#db/migrate.ts";
import { plantRows } from "../../contract/planted-rows.ts";
import { testDatabase } from "../../support/database.ts";
import { withDatabase } from "../../support/postgres/server-url.ts";
import { type Admin, columnsIn, schemaTexts } from "../../support/schema.ts";
import { makeMonth, monthsIn, PRESENT } from "../partitions/months.ts";
import { type DebianServer, HAS_DEBIAN_15, startDebian15 } from "./debian-postgres.ts";

// It makes a cluster and migrates three databases.
const FINGERPRINT = "f".repeat(64);

let folder: string;
/** Ends what the tests have opened, the last first. */
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "backup-"));
  ends.push(() => rm(folder, { recursive: true }));
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const newFile = () => join(folder, randomUUID());

/** Every row of every table that is kept, as text, but for what tells one database from another. */
async function contents(admin: Admin): Promise<Record<string, unknown[]>> {
  const tables = [...new Set((await columnsIn(admin)).map(({ table }) => table))];
  const kept = tables.filter((table) => !["migrations", "rate_windows", "installation"].includes(table));
  const rows: Record<string, unknown[]> = {};
  for (const table of kept) {
    rows[table] = [...(await admin`select t::text as row from ${admin(table)} t order by t::text`)];
  }
  return rows;
}

async function fill(admin: Admin): Promise<void> {
  await admin`update installation set secret_fingerprint = ${FINGERPRINT}`;
  for (const slug of ["river", "rival"]) {
    const [property] = await admin<{ id: string }[]>`
      insert into properties (name, slug) values ('Two\tlines\nand \\. a backslash', ${slug}) returning id`;
    await plantRows(admin, property!.id);
    await admin`
      insert into players (property_id, player_id, first_name, email)
      select ${property!.id}, 'P' || n, 'Zoë ' || n, 'p' || n || '@example.com' from generate_series(1, 500) n returning 1`;
  }
  await admin`
    insert into users (email, password_hash) values ('admin@example.com', 'x')`;
  await admin`
    insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'forget_expired', '{}', 1)`;
}

/** A database, as its superuser and as the service is told of it. */
interface Place {
  admin: Admin;
  url: string;
}

function open(url: string): Admin {
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  ends.push(() => admin.end());
  return admin;
}

async function takeChecked(url: string, file: string) {
  const taken = await takeBackup(url, file);
  expect(taken.bytes).toBe((await stat(file)).size);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  return taken;
}

type Taken = Awaited<ReturnType<typeof takeBackup>>;

/** The backup fills the empty copy, and holds sending there. */
async function comesBack(original: Place, copy: Place, file: string, taken: Taken): Promise<void> {
  const restored = await restoreBackup(copy.url, file, FINGERPRINT);
  expect(restored).toEqual({ takenAt: taken.takenAt, tables: taken.tables });
  expect(await schemaTexts(copy.admin)).toEqual(await schemaTexts(original.admin));
  expect(await monthsIn(copy.admin)).toEqual(await monthsIn(original.admin));
  const isOpen = (admin: Admin) =>
    admin`select sending_is_open() as open, secret_fingerprint, identity from installation`;
  expect(await isOpen(original.admin)).toMatchObject([{ open: true }]);
  // Held where the copy's database is the backup's own, too.
  const held = { open: false, secret_fingerprint: FINGERPRINT, identity: "restored" };
  expect(await isOpen(copy.admin)).toEqual([held]);
  expect((await migrate(copy.url)).applied).toEqual([]);
}

/** Writes a user and a key in one transaction again and again, until it is told to end. */
function writeBeside(url: string): () => Promise<void> {
  const other = open(url);
  let goesOn = true;
  const writing = (async () => {
    while (goesOn) {
      // Half of it would be a moment that never was.
      await other.begin(async (sql) => {
        const name = randomUUID();
        await sql`insert into users (email, password_hash) values (${name}, 'beside')`;
        await sql`
          insert into api_keys (property_id, name, key_prefix, key_hash)
          select id, ${name}, 'beside', ${randomBytes(32)} from properties limit 1`;
      });
    }
  })();
  return () => {
    goesOn = false;
    return writing;
  };
}

/** Takes out what was written beside. Answers the names of its users and of its keys. */
async function takeOut(admin: Admin): Promise<{ users: string[]; keys: string[] }> {
  const users = await admin`delete from users where password_hash = 'beside' returning email as name`;
  const keys = await admin`delete from api_keys where key_prefix = 'beside' returning name`;
  return { users: users.map(({ name }) => name).sort(), keys: keys.map(({ name }) => name).sort() };
}

describe("a backup of the embedded PostgreSQL", () => {
  let original: Place;
  let copy: Place;
  let file: string;
  let taken: Taken;

  beforeAll(async () => {
    const { url, drop } = await testDatabase();
    ends.push(drop);
    original = { admin: open(url), url };
    await makeMonth(original.admin, "audit_logs", PRESENT - 40);
    await fill(original.admin);
    file = newFile();
    const endWriting = writeBeside(url);
    taken = await takeChecked(url, file);
    await endWriting();

    const server = inject("server");
    const name = `b_${randomBytes(6).toString("hex")}`;
    const admin = open(server);
    await admin.unsafe(`create database ${name}`);
    ends.push(() => admin.unsafe(`drop database ${name} with (force)`));
    const there = withDatabase(server, name);
    copy = { admin: open(there), url: there };
  });

  test("is refused where it does not fit, in words, and leaves the database as it was", async () => {
    await expect(takeBackup(original.url, file)).rejects.toThrow("exists already");
    const refusals: [string, string | null, string | RegExp][] = [
      [join(folder, "none"), FINGERPRINT, "There is no file"],
      [file, null, "APP_SECRET: required"],
      [file, "e".repeat(64), "APP_SECRET: not the one"],
    ];
    for (const [path, secret, message] of refusals) {
      await expect(restoreBackup(copy.url, path, secret), String(message)).rejects.toThrow(message);
    }
    expect(await columnsIn(copy.admin)).toEqual([]);

    const whole = await readFile(file);
    const cut = newFile();
    await writeFile(cut, whole.subarray(0, whole.length - 100));
    await expect(restoreBackup(copy.url, cut, FINGERPRINT)).rejects.toThrow(/cannot be read|not whole/);
    const strange = newFile();
    await writeFile(strange, "not a backup");
    await expect(restoreBackup(copy.url, strange, FINGERPRINT)).rejects.toThrow("cannot be read");
    const other = newFile();
    const [kept] = await original.admin<{ checksum: string }[]>`
      select checksum from migrations where name = '0003_calls.sql'`;
    const checksum = (value: string) =>
      original.admin`update migrations set checksum = ${value} where name = '0003_calls.sql'`;
    await checksum("another");
    await takeBackup(original.url, other);
    await checksum(kept!.checksum);
    await expect(restoreBackup(copy.url, other, FINGERPRINT)).rejects.toThrow(
      /another version \(0003_calls\.sql/,
    );
    expect(await copy.admin`select from properties`).toHaveLength(0);
    await expect(restoreBackup(original.url, file, FINGERPRINT)).rejects.toThrow("not empty");
  });

  test("is one moment beside writers, brings every row of every table back, and holds sending", async () => {
    await comesBack(original, copy, file, taken);
    const [all, then] = [await takeOut(original.admin), await takeOut(copy.admin)];
    expect(all.users).toEqual(all.keys);
    expect(then.users).toEqual(then.keys);
    expect(then.users.length, "nothing was written beside").toBeLessThan(all.users.length);
    expect(await contents(copy.admin)).toEqual(await contents(original.admin));
  });
});

describe.runIf(HAS_DEBIAN_15)("on PostgreSQL 15, whose user may do no more than the guide says,", () => {
  let server: DebianServer;
  let original: Place;
  const made: string[] = [];
  const make = async (): Promise<Place> => {
    const name = `b_${randomBytes(6).toString("hex")}`;
    await server.run(`create database ${name} owner marketing encoding 'UTF8' template template0`);
    made.push(name);
    return { admin: open(server.url(name)), url: server.url(name, "marketing") };
  };
  beforeAll(async () => {
    server = await startDebian15();
    ends.push(server.stop);
    await server.run("create role marketing login createrole");
    original = await make();
    await migrate(original.url);
    await makeMonth(open(original.url), "audit_logs", PRESENT - 40);
    await fill(original.admin);
  });

  test("a backup brings every row of every table back, and holds sending", async () => {
    const [copy, file] = [await make(), newFile()];
    await comesBack(original, copy, file, await takeChecked(original.url, file));
    expect(await contents(copy.admin)).toEqual(await contents(original.admin));
  });

  test("a dump that was restored where the roles were missing gets its roles, grants and policies again", async () => {
    const { url, admin } = original;
    const whole = await schemaTexts(admin);
    const functions = (sql: Admin) => sql`
      select p.oid::regprocedure::text as name, array(select unnest(proacl)::text order by 1) as acl from pg_proc p
      where pronamespace = 'public'::regnamespace order by 1`;
    const callable = await functions(admin);
    const file = newFile();
    const database = new URL(url).pathname.slice(1);
    await server.program("pg_dump", ["-Fc", "-f", file, server.url(database)]);

    // As another server, which has neither the databases nor the service's roles.
    await Promise.all(made.map((name) => server.run(`drop database ${name} with (force)`)));
    const roles = await open(
      server.url("postgres"),
    )`select rolname from pg_roles where rolname like 'app\\_%'`;
    await server.run(`drop role ${roles.map(({ rolname }) => rolname).join(", ")}`);
    const { admin: restored, url: there } = await make();
    await server.program("pg_restore", ["-d", server.url(new URL(there).pathname.slice(1)), file]);
    expect(await restored`select from pg_roles where rolname like 'app\\_%'`).toHaveLength(0);
    expect(await restored`select count(*)::int as count from players`).not.toEqual([{ count: 0 }]);

    expect((await migrate(there)).applied).toEqual([]);
    expect(await schemaTexts(restored)).toEqual(whole);
    expect(await functions(restored)).toEqual(callable);
    expect(await restored`select sending_is_open() as open`).toEqual([{ open: false }]);
  });
});
