import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { restoreBackup } from "#db/backup/restore.ts";
import { takeBackup } from "#db/backup/take.ts";
import { migrate } from "#db/migrate.ts";
import { plantRows } from "../../contract/planted-rows.ts";
import { testDatabase } from "../../support/database.ts";
import { withDatabase } from "../../support/postgres/server-url.ts";
import { type Admin, columnsIn, schemaTexts } from "../../support/schema.ts";
import { makeMonth, monthsIn, PRESENT } from "../partitions/months.ts";
import { type DebianServer, HAS_DEBIAN_15, startDebian15 } from "./debian-postgres.ts";

// It makes a cluster and migrates four databases.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const FINGERPRINT = "f".repeat(64);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "backup-"));
});
afterAll(() => rm(folder, { recursive: true }));

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
      select ${property!.id}, 'P' || n, 'Zoë ' || n, 'p' || n || '@example.com' from generate_series(1, 3000) n returning 1`;
  }
  await admin`
    insert into users (email, password_hash) values ('admin@example.com', 'x')`;
  await admin`
    insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'forget_expired', '{}', 1)`;
}

interface Place {
  /** An empty database, as its superuser and as the service is told of it. */
  make(): Promise<{ admin: Admin; url: string }>;
}

function open(url: string): Admin {
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => admin.end());
  return admin;
}

const embedded: Place = {
  make: async () => {
    const server = inject("server");
    const name = `b_${randomBytes(6).toString("hex")}`;
    const admin = postgres(server, { max: 1, onnotice: () => {} });
    await admin.unsafe(`create database ${name}`);
    onTestFinished(async () => {
      await admin.unsafe(`drop database ${name} with (force)`);
      await admin.end();
    });
    const url = withDatabase(server, name);
    return { admin: open(url), url };
  },
};

function backsUp(place: () => Place) {
  test("brings every row of every table back, and holds sending", async () => {
    const [original, copy] = [await place().make(), await place().make()];
    await migrate(original.url);
    await makeMonth(open(original.url), "audit_logs", PRESENT - 40);
    await fill(original.admin);
    const file = newFile();
    const taken = await takeBackup(original.url, file);
    expect(taken.bytes).toBe((await stat(file)).size);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const restored = await restoreBackup(copy.url, file, FINGERPRINT);
    expect(restored).toEqual({ takenAt: taken.takenAt, tables: taken.tables });
    expect(await contents(copy.admin)).toEqual(await contents(original.admin));
    expect(await schemaTexts(copy.admin)).toEqual(await schemaTexts(original.admin));
    expect(await monthsIn(copy.admin)).toEqual(await monthsIn(original.admin));
    const isOpen = (admin: Admin) =>
      admin`select sending_is_open() as open, secret_fingerprint from installation`;
    expect(await isOpen(original.admin)).toMatchObject([{ open: true }]);
    expect(await isOpen(copy.admin)).toEqual([{ open: false, secret_fingerprint: FINGERPRINT }]);
    expect((await migrate(copy.url)).applied).toEqual([]);
  });
}

describe("a backup of the embedded PostgreSQL", () => {
  backsUp(() => embedded);

  test("is one moment of the database, also beside writers", async () => {
    const { url, drop } = await testDatabase();
    onTestFinished(drop);
    const copy = await embedded.make();
    const admin = open(url);
    await fill(admin);
    const writing = { goesOn: true };
    const writer = (async () => {
      const other = open(url);
      while (writing.goesOn) {
        // A user and a key in one transaction: half of it would be a moment that never was.
        await other.begin(async (sql) => {
          const name = randomUUID();
          await sql`insert into users (email, password_hash) values (${name}, 'x')`;
          await sql`
            insert into api_keys (property_id, name, key_prefix, key_hash)
            select id, ${name}, 'pk', ${randomBytes(32)} from properties limit 1`;
        });
      }
    })();
    const file = newFile();
    await takeBackup(url, file);
    writing.goesOn = false;
    await writer;
    await restoreBackup(copy.url, file, FINGERPRINT);
    const [halves] = await copy.admin`
      select count(*)::int as count from (select email from users where email <> 'admin@example.com') u
      full join (select name from api_keys where name not like 'x%') k on k.name = u.email
      where k.name is null or u.email is null`;
    expect(halves).toEqual({ count: 0 });
  });

  test("is refused where it does not fit, in words, and leaves the database as it was", async () => {
    const { url, drop } = await testDatabase();
    onTestFinished(drop);
    const admin = open(url);
    await fill(admin);
    const file = newFile();
    await takeBackup(url, file);
    await expect(takeBackup(url, file)).rejects.toThrow("exists already");
    const target = await embedded.make();
    const refusals: [string, string | null, string | RegExp][] = [
      [join(folder, "none"), FINGERPRINT, "There is no file"],
      [file, null, "APP_SECRET: required"],
      [file, "e".repeat(64), "APP_SECRET: not the one"],
    ];
    for (const [path, secret, message] of refusals) {
      await expect(restoreBackup(target.url, path, secret), String(message)).rejects.toThrow(message);
    }
    expect(await columnsIn(target.admin)).toEqual([]);

    const whole = await readFile(file);
    const cut = newFile();
    await writeFile(cut, whole.subarray(0, whole.length - 100));
    await expect(restoreBackup(target.url, cut, FINGERPRINT)).rejects.toThrow(/cannot be read|not whole/);
    const strange = newFile();
    await writeFile(strange, "not a backup");
    await expect(restoreBackup(target.url, strange, FINGERPRINT)).rejects.toThrow("cannot be read");
    expect(await target.admin`select from properties`).toHaveLength(0);
    await expect(restoreBackup(url, file, FINGERPRINT)).rejects.toThrow("not empty");

    await admin`update migrations set checksum = 'another' where name = '0003_calls.sql'`;
    const other = newFile();
    await takeBackup(url, other);
    await expect(restoreBackup(target.url, other, FINGERPRINT)).rejects.toThrow(
      /another version \(0003_calls\.sql/,
    );
  });
});

describe.runIf(HAS_DEBIAN_15)("on PostgreSQL 15, whose user may do no more than the guide says,", () => {
  let server: DebianServer;
  beforeAll(async () => {
    server = await startDebian15();
    await server.run("create role marketing login createrole");
  });
  afterAll(() => server?.stop());

  const debian: Place = {
    make: async () => {
      const name = `b_${randomBytes(6).toString("hex")}`;
      await server.run(`create database ${name} owner marketing encoding 'UTF8' template template0`);
      return { admin: open(server.url(name)), url: server.url(name, "marketing") };
    },
  };

  describe("a backup", () => backsUp(() => debian));

  test("a dump that was restored where the roles were missing gets its roles, grants and policies again", async () => {
    const { url, admin } = await debian.make();
    await migrate(url);
    await fill(admin);
    const whole = await schemaTexts(admin);
    const functions = (sql: Admin) => sql`
      select p.oid::regprocedure::text as name, array(select unnest(proacl)::text order by 1) as acl from pg_proc p
      where pronamespace = 'public'::regnamespace order by 1`;
    const callable = await functions(admin);
    const file = newFile();
    const database = new URL(url).pathname.slice(1);
    await server.program("pg_dump", ["-Fc", "-f", file, server.url(database)]);

    const elsewhere = await startDebian15();
    onTestFinished(elsewhere.stop);
    await elsewhere.run("create role marketing login createrole");
    await elsewhere.run(`create database copy owner marketing encoding 'UTF8' template template0`);
    await elsewhere.program("pg_restore", ["-d", elsewhere.url("copy"), file]);
    const restored = open(elsewhere.url("copy"));
    expect(await restored`select from pg_roles where rolname like 'app\\_%'`).toHaveLength(0);
    expect(await restored`select count(*)::int as count from players`).not.toEqual([{ count: 0 }]);

    expect((await migrate(elsewhere.url("copy", "marketing"))).applied).toEqual([]);
    expect(await schemaTexts(restored)).toEqual(whole);
    expect(await functions(restored)).toEqual(callable);
    expect(await restored`select sending_is_open() as open`).toEqual([{ open: false }]);
  });
});
