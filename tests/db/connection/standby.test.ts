import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connect, type Database } from "#db/database.ts";
import { migrate } from "#db/migrate.ts";
import { sql } from "#db/sql.ts";
import { type DebianServer, HAS_DEBIAN_15, type Standby, startDebian15 } from "../backup/debian-postgres.ts";

const PROPERTY = randomUUID();
/** Milliseconds in which the service looks at both servers several times. */
const LOOKS = 500;

/** Does it again and again. */
async function during(milliseconds: number, work: () => Promise<void>): Promise<void> {
  const until = performance.now() + milliseconds;
  while (performance.now() < until) await work();
}

describe.runIf(HAS_DEBIAN_15)("beside a streaming standby", () => {
  let server: DebianServer;
  let standby: Standby;
  let db: Database;
  let admin: postgres.Sql;

  beforeAll(async () => {
    server = await startDebian15();
    await server.run("create database marketing");
    await migrate(server.url("marketing"));
    standby = await server.standby();
    db = connect(server.url("marketing"), { standbyUrl: standby.url("marketing") });
    admin = postgres(standby.url("marketing"), { max: 1, onnotice: () => {} });
    await server.run(`insert into properties (id, name, slug) values ('${PROPERTY}', 'C', 'c')`, "marketing");
  });

  afterAll(async () => {
    await admin?.end();
    await db?.close();
    await server?.stop();
  });

  /** Whether the standby answers a caller, and how many players it then has. */
  const seen = async (caller: string) => {
    const [row] = await db.read(
      sql`select pg_is_in_recovery(), count(*) from players where property_id = ${PROPERTY}`,
      { caller },
    );
    return { byStandby: row![0] === "true" || row![0] === true || row![0] === "t", players: Number(row![1]) };
  };
  const write = (caller: string) =>
    db.asProperty(
      PROPERTY,
      (tag) => tag`insert into players (property_id, player_id) values (${PROPERTY}, ${randomUUID()})`,
      { caller },
    );
  const served = (caller: string, players: number) =>
    vi.waitFor(async () => expect(await seen(caller)).toEqual({ byStandby: true, players }), {
      timeout: 20_000,
      interval: 20,
    });

  test("lists are read there, and each caller sees its own writes, however far the standby is behind", async () => {
    await served("other", 0);
    await admin`select pg_wal_replay_pause()`;
    await write("ana");
    expect(await seen("ana"), "at once").toEqual({ byStandby: false, players: 1 });
    expect(await seen("other")).toEqual({ byStandby: true, players: 0 });
    // Time alone lets no caller go back.
    await vi.waitFor(async () => {
      const [sent] = await admin`select pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() as more`;
      expect(sent!.more).toBe(true);
    }, 20_000);
    await during(LOOKS, async () => expect(await seen("ana")).toEqual({ byStandby: false, players: 1 }));
    await admin`select pg_wal_replay_resume()`;
    await served("ana", 1);
    await served("other", 1);
  });

  test("exports are read there too, and a caller that has just written is answered by the primary", async () => {
    const exported = async (caller: string) => {
      const stream = (await db.exportSlot(PROPERTY, caller)).start((copy) =>
        copy(sql`select pg_is_in_recovery()`),
      );
      const pieces: Buffer[] = [];
      for (let piece = await stream.next(); piece; piece = await stream.next()) pieces.push(piece);
      return Buffer.concat(pieces).toString().trim();
    };
    await served("other", 1);
    expect(await exported("other")).toBe("t");
    await write("bea");
    expect(await exported("bea")).toBe("f");
    await served("bea", 2);
    expect(await exported("bea")).toBe("t");
  });

  test("the loss of the standby fails no read, and it is used again when it is back", async () => {
    await served("other", 2);
    await standby.kill();
    for (let round = 0; round < 20; round++) expect((await seen("other")).players).toBe(2);
    expect(await seen("other")).toEqual({ byStandby: false, players: 2 });
    await standby.start();
    await served("other", 2);
  });

  test("only a standby of the primary is read", async () => {
    await server.run("create database elsewhere");
    await migrate(server.url("elsewhere"));
    for (const url of [server.url("marketing"), server.url("elsewhere"), standby.url("elsewhere")]) {
      const wrong = connect(server.url("marketing"), { standbyUrl: url });
      await during(LOOKS, async () => {
        const place = sql`select current_database(), pg_is_in_recovery()::text where ${PROPERTY} <> ''`;
        expect(await wrong.read(place, { caller: "other" })).toEqual([["marketing", "false"]]);
      });
      await wrong.close();
    }
  });
});
