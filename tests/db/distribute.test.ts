import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "#db/database.ts";
import { placesOf, readyForPlacing } from "#db/distribute.ts";
import { migrate } from "#db/migrate.ts";
import { monthName, startOf } from "#db/partitions/month.ts";
import { dropPartition, makePartition, partitionedTables, type Run } from "#db/partitions/partitions.ts";
import { raw } from "#db/sql.ts";
import { safeHorizon } from "#tools/ledgers/seals.ts";
import { clusterDatabase, workersOf } from "../support/cluster/citus.ts";
import { testDatabase } from "../support/database.ts";
import { lockWaits, openTransaction } from "../support/postgres/blocking.ts";
import { withDatabase } from "../support/postgres/server-url.ts";
import { columnsIn, tenantTables } from "../support/schema.ts";
import { idAt, PRESENT } from "./partitions/months.ts";

test("the tables of properties are distributed, and those of the platform that they need are copied", async () => {
  const { url, drop } = await testDatabase();
  const admin = postgres(url, { max: 1 });
  try {
    const { distributed, copied } = await placesOf(admin);
    expect([...distributed].sort()).toEqual(tenantTables(await columnsIn(admin)).sort());
    expect([...copied].sort()).toEqual([
      "api_keys",
      "memberships",
      "properties",
      "sms_keyword_defaults",
      "users",
    ]);
    expect(distributed.indexOf("campaigns")).toBeLessThan(distributed.indexOf("campaign_sends"));
  } finally {
    await admin.end();
    await drop();
  }
});

const cluster = await clusterDatabase();

describe.runIf(cluster)("on a Citus cluster", () => {
  const url = cluster?.url ?? "";
  const property = randomUUID();
  const player = randomUUID();
  let admin: postgres.Sql;

  const places = async () => {
    const rows = await admin<{ name: string; place: string; group: number }[]>`
      select logicalrelid::text as name, colocationid as "group",
        case when partmethod = 'h' then 'distributed' else 'copied' end as place
      from pg_dist_partition order by 1`;
    return [...rows];
  };

  const patience = 60_000;

  beforeAll(() => {
    admin = postgres(url, { max: 3, onnotice: () => {} });
  });

  afterAll(async () => {
    await admin.end();
    await cluster!.drop();
  }, patience);

  test("a database that has rows already is distributed once, whole or not at all", async () => {
    expect((await migrate(url)).placed, "no cluster yet").toEqual([]);
    await admin`insert into properties (id, name, slug) values (${property}, 'Casino', 'casino')`;
    const before = connect(url);
    await before.asProperty(
      property,
      (sql) => sql`
        insert into players (property_id, id, player_id, email) values (${property}, ${player}, 'P1', 'a@casino.example')`,
    );
    // A connection keeps the settings that it began with, and would see nothing.
    await before.close();
    await admin`create extension citus`;
    await expect(migrate(url), "it would hold the rows itself").rejects.toMatchObject({ code: "UNFIT" });
    expect(await places()).toEqual([]);
    await admin`drop extension citus`;
    await cluster!.join();

    const release = await openTransaction(admin, (sql) => sql`lock table webhook_deliveries in share mode`);
    const interrupted = migrate(url).catch((error: unknown) => error);
    await Promise.race([lockWaits(admin, 1, patience), interrupted]);
    await admin`
      select pg_cancel_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    expect(await interrupted).toMatchObject({ code: "57014" });
    await release();
    expect(await places()).toEqual([]);

    const { applied, placed } = await migrate(url);
    expect(applied).toEqual([]);
    const { distributed, copied } = await placesOf(admin);
    expect(placed.map(({ table, place }) => [table, place])).toEqual([
      ...copied.map((table) => [table, "copied"]),
      ...distributed.map((table) => [table, "distributed"]),
    ]);
    const groups = (await places()).filter(({ place }) => place === "distributed").map(({ group }) => group);
    expect(new Set(groups).size, "one group, so that a property's rows are on one node").toBe(1);
    expect(await migrate(url)).toEqual({ applied: [], placed: [] });

    const db = connect(url);
    const found = (tenant: string) =>
      db.asProperty(tenant, (sql) => sql`select id from players where property_id = ${property}`);
    expect(await found(property)).toEqual([{ id: player }]);
    expect(await found(randomUUID()), "the wall stands on the other nodes").toEqual([]);
    await db.close();
  }, 120_000);

  test(
    "a later migration may change a distributed table in every usual way, and a new table is placed beside it",
    async () => {
      const statements = [
        "alter table players add column nickname text default 'x' not null",
        "alter table players alter column nickname drop default",
        "alter table players add column initial text generated always as (left(first_name, 1)) stored",
        "alter table players alter column nickname type varchar(90)",
        "alter table players add constraint players_nickname check (nickname <> '')",
        "create index players_nickname on players (property_id, nickname)",
        "create unique index players_nickname_once on players (property_id, nickname) where deleted_at is null",
        "alter table properties add column motto text",
        "alter table templates add column player_id uuid",
        "alter table templates add foreign key (property_id, player_id) references players",
        "create function motto_of(property uuid) returns text language sql stable as $$ select motto from properties where id = property $$",
        "grant select (motto) on properties to app_reader",
        "alter table players drop column initial",
        "drop index players_nickname_once",
        `create table pets (property_id uuid not null references properties, id uuid not null, player_id uuid not null,
        primary key (property_id, id), foreign key (property_id, player_id) references players);
      call isolate_tenants('pets')`,
      ];
      // As migrate runs the text of one: in a transaction, in a session that is ready for placing.
      const session = postgres(url, { max: 1, onnotice: () => {} });
      await readyForPlacing(session);
      for (const statement of statements) {
        await session.begin((sql) => sql.unsafe(statement).simple());
      }
      await session.end();
      expect((await migrate(url)).placed.map(({ table, place }) => [table, place])).toEqual([
        ["pets", "distributed"],
      ]);
      const groups = (await places())
        .filter(({ place }) => place === "distributed")
        .map(({ group }) => group);
      expect(new Set(groups).size).toBe(1);
    },
    patience,
  );

  test(
    "no ledger is sealed up to a time that a prepared transaction of another node may write behind",
    async () => {
      const db = connect(url);
      const [worker] = await workersOf(url);
      const node = postgres(withDatabase(worker!, cluster!.name), { max: 1, onnotice: () => {} });
      const behind = async () => Date.now() - Date.parse((await db.asSystem((sql) => safeHorizon(sql, 0)))!);
      try {
        expect(await behind()).toBeLessThan(60_000);
        await node.unsafe("begin; create table in_doubt (); prepare transaction 'in_doubt'").simple();
        expect(await behind()).toBeGreaterThan(299_000);
        await node.unsafe("rollback prepared 'in_doubt'");
        expect(await behind()).toBeLessThan(60_000);
      } finally {
        await node.end();
        await db.close();
      }
    },
    patience,
  );

  test(
    "the months that are to come are made on every node, and those whose retention has ended are dropped there",
    async () => {
      const db = connect(url);
      const month = PRESENT - 4;
      const name = `mailbox_messages_${monthName(month).replace("-", "_")}`;
      const shards = async () =>
        (await admin`select from citus_shards where table_name = to_regclass(${name})`).length;
      const id = idAt(startOf(month) + 1);
      await db.asProperty(
        property,
        (sql) => sql`
          insert into mailbox_messages (property_id, id, channel, recipient) values (${property}, ${id}, 'email', 'a')`,
      );
      const owner: Run = (statement) => admin.unsafe(statement);
      await admin.begin((sql) =>
        makePartition((statement) => sql.unsafe(statement), { table: "mailbox_messages", month }),
      );
      expect(await shards()).toBeGreaterThan(0);
      const found = await db.asProperty(
        property,
        (sql) => sql`select id from mailbox_messages where property_id = ${property}`,
      );
      expect([...found], "moved out of the rest").toEqual([{ id }]);
      expect(
        (await partitionedTables(owner)).find(({ table }) => table === "mailbox_messages")?.months,
      ).toContain(month);
      // As the job drops it: in a transaction that has been another role.
      await db.asSystem(async (sql) => {
        await sql`select 1`;
        await sql`set local role none`;
        await dropPartition((statement) => sql`${raw(statement)}`, { table: "mailbox_messages", month });
      });
      expect(
        (await partitionedTables(owner)).find(({ table }) => table === "mailbox_messages")?.months,
      ).not.toContain(month);
      await db.close();
    },
    patience,
  );

  test(
    "a start says what the cluster lacks, and sets what it may set itself",
    async () => {
      const name = new URL(url).pathname.slice(1);
      await admin.unsafe(`alter database "${name}" reset citus.propagate_set_commands`);
      await migrate(url);
      const [set] = await admin`
      select setconfig from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
      where d.datname = ${name} and setrole = 0`;
      expect(set!.setconfig).toContain("citus.propagate_set_commands=local");

      const coordinator = (has: boolean) => admin`
        select citus_set_node_property(nodename, nodeport, 'shouldhaveshards', ${has}) from pg_dist_node where groupid = 0`;
      await coordinator(true);
      await expect(migrate(url)).rejects.toMatchObject({
        code: "UNFIT",
        message: expect.stringContaining("citus_drain_node"),
      });
      await coordinator(false);
      await migrate(url);

      const [{ user }] = (await admin`select current_user as "user"`) as [{ user: string }];
      await admin.unsafe(
        `alter role "${user}" in database "${name}" set citus.propagate_set_commands = 'none'`,
      );
      await expect(migrate(url)).rejects.toMatchObject({
        code: "UNFIT",
        message: expect.stringContaining("citus.propagate_set_commands must be local"),
      });
    },
    patience,
  );
});
