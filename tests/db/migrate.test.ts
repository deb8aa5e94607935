import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { migrate, UnreleasedDatabase, unfit } from "#db/migrate.ts";
import { testDatabase } from "../support/database.ts";
import { withDatabase } from "../support/postgres/server-url.ts";

test("a server that closes every connection, or says nothing at all, is given up and not asked for ever", async () => {
  for (const closes of [true, false]) {
    const server = createServer((socket) => {
      socket.on("error", () => {}).resume();
      if (closes) socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const given = migrate(`postgres://u:secret@127.0.0.1:${port}/x`, 300);
    await expect(given).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
    server.close();
    // Nobody tries it any more.
    await once(server, "close");
  }
});

test("a database that cannot hold every name is refused before anything is made in it", async () => {
  const name = `t_${randomUUID().replaceAll("-", "")}`;
  const admin = postgres(inject("server"), { max: 1, onnotice: () => {} });
  await admin.unsafe(
    `create database ${name} encoding 'LATIN1' locale_provider libc locale 'C' template template0`,
  );
  const url = withDatabase(inject("server"), name);
  try {
    await expect(migrate(url)).rejects.toMatchObject({
      code: "UNFIT",
      message: expect.stringMatching(/LATIN1.*UTF8/),
    });
    const inside = postgres(url, { max: 1 });
    expect(await inside`select from pg_tables where schemaname = 'public'`).toHaveLength(0);
    await inside.end();
  } finally {
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end();
  }
});

test("a server is told from one that is too old", () => {
  const encoding = "UTF8";
  expect(unfit({ version: 140_012, encoding })).toMatch(/PostgreSQL 14.*15 or newer/);
  for (const version of [150_000, 150_009, 180_001]) expect(unfit({ version, encoding })).toBeNull();
});

test("a database of another unreleased state is refused with the way to bring its players along, and left as it is", async () => {
  const { url, drop } = await testDatabase();
  const admin = postgres(url, { max: 1 });
  const state = () => admin`
    select (select jsonb_agg(m order by name) from migrations m) as migrations,
      (select jsonb_agg(relname order by relname) from pg_class where relnamespace = 'public'::regnamespace) as relations`;
  try {
    expect((await migrate(url)).applied, "up to date").toEqual([]);
    for (const [others, name] of [
      [admin`update migrations set checksum = 'x' where name = '0003_calls.sql'`, "0003_calls.sql"],
      [admin`insert into migrations (name, checksum) values ('0001_house.sql', 'x')`, "0001_house.sql"],
    ] as const) {
      await others;
      const before = await state();
      const refusal = await migrate(url).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(UnreleasedDatabase);
      for (const part of [name, "made anew", "export-players", "create-import-job"]) {
        expect((refusal as Error).message).toContain(part);
      }
      expect(await state()).toEqual(before);
    }
  } finally {
    await admin.end();
    await drop();
  }
});

test("a migration that is new is applied to a database that has the others", async () => {
  const { url, drop } = await testDatabase();
  const admin = postgres(url, { max: 1 });
  try {
    await admin`drop table privacy_requests`;
    await admin`delete from migrations where name = '0019_privacy.sql'`;
    expect((await migrate(url)).applied).toEqual([
      { name: "0019_privacy.sql", milliseconds: expect.any(Number) as number },
    ]);
    expect(await admin`select from privacy_requests`).toHaveLength(0);
    expect((await migrate(url)).applied).toEqual([]);
  } finally {
    await admin.end();
    await drop();
  }
});

test("until the first release each table stands whole in one migration, and migrations are numbered without a gap", async () => {
  const folder = new URL("../../db/migrations/", import.meta.url);
  const names = (await readdir(folder)).sort();
  expect(names.map((name) => name.replace(/_[a-z_]+\.sql$/, ""))).toEqual(
    names.map((_, place) => String(place + 1).padStart(4, "0")),
  );
  for (const name of names) {
    const text = await readFile(new URL(name, folder), "utf8");
    expect(text, name).toMatch(/^-- \S/);
    expect(text, name).not.toMatch(/\b(?:add|drop) column\b|\bdrop (?:function|index|policy|table)\b/);
  }
});
