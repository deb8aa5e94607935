import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { migrate, unfit } from "#db/migrate.ts";
import { withDatabase } from "../support/postgres.ts";

test("what closes every connection, or says nothing at all, is given up and not asked for ever", async () => {
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
