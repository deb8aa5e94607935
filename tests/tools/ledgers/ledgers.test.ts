import { randomUUID, randomUUIDv7 } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LEDGERS, PROPERTY_LEDGERS as NAMES, type PropertyLedger } from "#runtime/ledgers.ts";
import { type Seal, safeHorizon, sealHash, sealNext, unsealed } from "#tools/ledgers/seals.ts";
import { shifted } from "../../support/database.ts";
import { columnsIn } from "../../support/schema.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let admin: postgres.Sql;
beforeAll(async () => {
  service = await startService();
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

/** Closes what is there now, in ranges of `most` rows, as soon as nothing older is open. */
async function seal(tenant: Tenant, most = 100): Promise<void> {
  const { db, config } = service.internals;
  await vi.waitFor(async () => {
    const horizon = await db.asSystem((sql) => safeHorizon(sql, 0));
    for (const ledger of NAMES) {
      const about = { propertyId: tenant.id, ledger };
      while (await db.asSystem((sql) => sealNext(sql, config, about, { horizon: horizon!, most }))) {}
      expect(await db.asSystem((sql) => unsealed(sql, ledger, "infinity"))).not.toContain(tenant.id);
    }
  }, 10_000);
}

const verify = async (tenant: Tenant, input: object = {}) =>
  (
    await service.post(
      "/api/functions/verify-ledger",
      { propertyId: tenant.id, ...input },
      { "X-Api-Key": tenant.readKey },
    )
  ).body;

const firstOf = async (tenant: Tenant, ledger: PropertyLedger) =>
  (await verify(tenant, { ledger })).ledgers[0].first;

let made = 0;
/** A property with some players and their consents, each in a transaction of its own, sealed in small ranges. */
async function sealedTenant(players = 6): Promise<{ tenant: Tenant; ids: string[] }> {
  const tenant = await service.newTenant();
  const ids: string[] = [];
  for (let index = 0; index < players; index++) {
    const player = await service.call("create_player", { email: `led${++made}@example.com` }, tenant.id);
    ids.push(player.id);
    await service.call("consent_record", {
      propertyId: tenant.id,
      playerId: player.id,
      channel: "email",
      consentGiven: true,
      consentSource: "desk",
      consentText: "Yes, write to me",
    });
  }
  await seal(tenant, 4);
  return { tenant, ids };
}

const rowsOf = (ledger: PropertyLedger, tenant: Tenant) =>
  admin<{ id: string }[]>`
    select id from ${admin(ledger)} where property_id = ${tenant.id} order by created_at, id`;

/** Changes something as a superuser, who is above every right, and puts it back. */
async function tampering(
  change: () => Promise<unknown>,
  undo: () => Promise<unknown>,
  look: () => Promise<void>,
) {
  await change();
  try {
    await look();
  } finally {
    await undo();
  }
}

/**
 * Writes a row anew from a copy, whose columns are changed one after the other. A cluster refuses an update of the row
 * itself by functions that are not immutable.
 */
async function rewrite(table: string, id: string, changes: [column: string, value: string][]): Promise<void> {
  await admin`set timezone = 'UTC'`;
  await admin`create temp table copied as select * from ${admin(table)} where id = ${id}`;
  for (const [column, value] of changes) {
    await admin`update copied set ${admin(column)} = ${admin.unsafe(value)}`;
  }
  await admin`delete from ${admin(table)} where id = ${id}`;
  await admin`insert into ${admin(table)} select * from copied`;
  await admin`drop table copied`;
}

test("a ledger that was written in the usual way is intact, page by page, and another property's is its own", async () => {
  const { tenant } = await sealedTenant();
  await service.call("create_player", { email: `led${++made}@example.com` }, tenant.id);
  const seen = await verify(tenant);
  expect(seen).toMatchObject({
    intact: true,
    ledgers: [
      { ledger: "audit_logs", seals: 4, next_seal: null, other_secret: 0, first: null },
      { ledger: "consent_records", seals: 2, next_seal: null, first: null },
    ],
  });
  expect(await verify(tenant, { ledger: "audit_logs", fromSeal: 3 })).toMatchObject({
    intact: true,
    ledgers: [{ seals: 2 }],
  });
});

test("any changed column of any row is named, sealed or not yet", async () => {
  const { tenant, ids } = await sealedTenant(3);
  // A player that the ledger refers to must exist.
  const others: Record<string, string> = { ...OTHERS, player_id: `'${ids[0]}'` };
  const all = await columnsIn(admin);
  for (const ledger of NAMES) {
    const { id } = (await rowsOf(ledger, tenant))[1]!;
    const columns = all.filter(({ table, column }) => table === ledger && !KEYS.has(column));
    for (const { column, type } of columns) {
      const other = others[column] ?? BY_TYPE[type];
      expect(other, `${ledger}.${column} ${type}`).toBeDefined();
      await admin`create temp table kept as select * from ${admin(ledger)} where id = ${id}`;
      await tampering(
        () => rewrite(ledger, id, [[column, other!]]),
        async () => {
          await admin`delete from ${admin(ledger)} where id = ${id}`;
          await admin`insert into ${admin(ledger)} select * from kept`;
          await admin`drop table kept`;
        },
        async () => {
          const first = await firstOf(tenant, ledger);
          expect(first, `${ledger}.${column}`).toMatchObject({ row_id: id });
          expect(first.kind, `${ledger}.${column}`).toMatch(/^row_/);
        },
      );
    }
    expect(await firstOf(tenant, ledger)).toBeNull();
  }
});

const KEYS = new Set(["property_id", "id", "anon_id"]);
const OTHERS: Record<string, string> = {
  actor_type: "'player'",
  channel: "case when channel = 'sms' then 'push' else 'sms' end",
  action: "'revoked'",
  consent_level: "'implied'",
};
const BY_TYPE: Record<string, string> = {
  text: "'tampered'",
  uuid: "uuid_v7()",
  jsonb: `'{"a": 1}'`,
  bytea: "sha256('x')",
  boolean: "false",
  "timestamp with time zone": "now() + interval '1 day'",
};

test("a row that is taken out, put in, or written anew with its hash is named with its seal", async () => {
  const { tenant } = await sealedTenant(4);
  for (const ledger of NAMES) {
    const table = admin(ledger);
    const { id } = (await rowsOf(ledger, tenant))[2]!;
    await admin`create temp table kept as select * from ${table} where id = ${id}`;
    const restore = async () => {
      await admin`delete from ${table} where id = ${id}`;
      await admin`insert into ${table} select * from kept`;
    };
    await tampering(
      () => admin`delete from ${table} where id = ${id}`,
      restore,
      async () =>
        expect(await firstOf(tenant, ledger)).toMatchObject({ kind: "row_removed", row_id: id, seal: 1 }),
    );
    const put = randomUUID();
    await tampering(
      async () => {
        await admin`create temp table copied as select * from kept`;
        await admin`update copied set id = ${put}`;
        await admin`set timezone = 'UTC'`;
        await admin.unsafe(`update copied set record_hash = ${rehashed(ledger)}`);
        await admin`insert into ${table} select * from copied`;
        await admin`drop table copied`;
      },
      () => admin`delete from ${table} where id = ${put}`,
      async () =>
        expect(await firstOf(tenant, ledger)).toMatchObject({ kind: "row_inserted", row_id: put, seal: 1 }),
    );
    await tampering(
      () => rewrite(ledger, id, rehashing(ledger)),
      restore,
      async () =>
        expect(await firstOf(tenant, ledger)).toMatchObject({ kind: "row_changed", row_id: id, seal: 1 }),
    );
    await admin`drop table kept`;
    expect(await firstOf(tenant, ledger)).toBeNull();
  }
});

/** Another actor, with the hash of the row that this makes. */
const rehashing = (ledger: PropertyLedger): [string, string][] => [
  ["actor_type", "'player'"],
  ["record_hash", rehashed(ledger)],
];

function rehashed(ledger: PropertyLedger): string {
  const { sealed, written } = LEDGERS[ledger];
  const names = [...Object.keys(sealed), ...written, "detail_hash"];
  return `sealed_hash(jsonb_build_object(${names.map((name) => `'${name}', copied.${name}`).join(", ")}))`;
}

test("a seal that is changed or gone is named, the last one too, and a chain made anew without the secret", async () => {
  const { tenant } = await sealedTenant();
  await admin`create temp table seals as
    select * from ledger_seals where property_id = ${tenant.id} and ledger = 'audit_logs'`;
  const restore = async () => {
    await admin`delete from ledger_seals where property_id = ${tenant.id} and ledger = 'audit_logs'`;
    await admin`insert into ledger_seals select * from seals returning 1`;
  };
  const [{ last }] = (await admin`select max(seq)::int as last from seals`) as unknown as [{ last: number }];
  const cases: [string, object][] = [
    ["delete from ledger_seals where $ and seq = 1", { kind: "seal_removed", seal: 1 }],
    ["delete from ledger_seals where $ and seq = 2", { kind: "seal_removed", seal: 2 }],
    [`delete from ledger_seals where $ and seq = ${last}`, { kind: "seal_removed", seal: last }],
    ["delete from ledger_seals where $", { kind: "seal_removed", seal: 1 }],
    [
      `update ledger_seals set to_at = ${shifted("to_at", "1 microsecond").texts[0]} where $ and seq = 2`,
      { kind: "seal_changed", seal: 2 },
    ],
    ["update ledger_seals set mac = sha256('x') where $ and seq = 2", { kind: "seal_changed", seal: 2 }],
    [
      "update ledger_seals set seal_hash = sha256('x') where $ and seq = 1",
      { kind: "seal_changed", seal: 1 },
    ],
    [
      `update ledger_seals set previous_hash = null where $ and seq = ${last}`,
      { kind: "seal_changed", seal: last },
    ],
  ];
  for (const [statement, flaw] of cases) {
    const where = `property_id = '${tenant.id}' and ledger = 'audit_logs'`;
    await tampering(
      () => admin.unsafe(statement.replace("$", where)),
      restore,
      async () => expect(await firstOf(tenant, "audit_logs"), statement).toMatchObject(flaw),
    );
  }
  expect(await firstOf(tenant, "audit_logs")).toBeNull();
  // An operator who makes the seals anew has another secret, and says so.
  await tampering(
    () => admin`update ledger_seals set key_id = 'another' where property_id = ${tenant.id}`,
    restore,
    async () => expect((await verify(tenant)).ledgers[0]).toMatchObject({ other_secret: last }),
  );
  await admin`drop table seals`;
});

test("a seal that is made anew with another secret does not fit into the chain", async () => {
  const { tenant } = await sealedTenant();
  const about = { propertyId: tenant.id, ledger: "audit_logs" as const };
  const seals = await admin<(Seal & { later: string })[]>`
    select seq, to_json(from_at) #>> '{}' as from_at, to_json(to_at) #>> '{}' as to_at, row_ids, row_hashes,
      previous_hash, seal_hash, key_id, to_json(to_at + interval '1 microsecond') #>> '{}' as later
    from ledger_seals where property_id = ${tenant.id} and ledger = 'audit_logs' order by seq`;
  const write = ({ seq, to_at, previous_hash, seal_hash, key_id }: Seal) => admin`
    update ledger_seals set to_at = ${to_at}::text::timestamptz, previous_hash = ${previous_hash},
      seal_hash = ${seal_hash}, key_id = ${key_id}
    where property_id = ${tenant.id} and ledger = 'audit_logs' and seq = ${seq}`;
  const [second, last] = [seals[1]!, seals.at(-1)!];
  for (const remade of [
    { ...second, previous_hash: null, key_id: "another" },
    { ...last, to_at: last.later, key_id: "another" },
  ]) {
    await tampering(
      () => write({ ...remade, seal_hash: sealHash(about, remade) }),
      () => write(seals[remade.seq - 1]!),
      async () =>
        expect(await firstOf(tenant, "audit_logs")).toMatchObject({ kind: "seal_changed", seal: remade.seq }),
    );
    expect(await firstOf(tenant, "audit_logs")).toBeNull();
  }
});

test("a row that is written anew in its seal too changes the seal", async () => {
  const { tenant } = await sealedTenant(4);
  const { id } = (await rowsOf("audit_logs", tenant))[2]!;
  await rewrite("audit_logs", id, rehashing("audit_logs"));
  const [row] = await admin<{ hash: Buffer }[]>`select record_hash as hash from audit_logs where id = ${id}`;
  const [seal] = await admin<Pick<Seal, "seq" | "row_ids" | "row_hashes">[]>`
    select seq, row_ids, row_hashes from ledger_seals
    where property_id = ${tenant.id} and ledger = 'audit_logs' and ${id} = any(row_ids)`;
  const hashes = seal!.row_ids.map((one, place) => (one === id ? row!.hash : seal!.row_hashes[place]!));
  await admin`
    update ledger_seals set row_hashes = ${admin.array(hashes)}
    where property_id = ${tenant.id} and ledger = 'audit_logs' and seq = ${seal!.seq}`;
  expect(await firstOf(tenant, "audit_logs")).toMatchObject({ kind: "seal_changed", seal: 1 });
});

test("a row whose transaction commits late is closed by a later seal, and none falls between", async () => {
  const { tenant, ids } = await sealedTenant(2);
  const { db, config } = service.internals;
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const late = db.asProperty(tenant.id, async (sql) => {
    const { appendRows } = await import("#runtime/ledgers.ts");
    const row = {
      property_id: tenant.id,
      id: randomUUIDv7(),
      actor_type: "system",
      action: "late",
      client: "test",
    };
    await appendRows(sql, "audit_logs", [row]);
    entered.resolve();
    await release.promise;
    return row.id;
  });
  await entered.promise;
  await service.call("update_player", { id: ids[0]!, tier: "Gold" }, tenant.id);
  const horizon = await db.asSystem((sql) => safeHorizon(sql, 0));
  const about = { propertyId: tenant.id, ledger: "audit_logs" as const };
  while (await db.asSystem((sql) => sealNext(sql, config, about, { horizon: horizon!, most: 100 }))) {}
  const [before] = await admin`
    select count(*)::int as rows from audit_logs r where property_id = ${tenant.id} and created_at > (
      select max(to_at) from ledger_seals s where s.property_id = ${tenant.id} and s.ledger = 'audit_logs')`;
  release.resolve();
  const lateId = await late;
  await seal(tenant);
  expect(before!.rows, "what came after the open transaction began stays open").toBe(1);
  const [held] = await admin`
    select seq from ledger_seals where property_id = ${tenant.id} and ${lateId} = any(row_ids)`;
  expect(held).toBeDefined();
  expect(await verify(tenant)).toMatchObject({ intact: true });
});

test("few rows and many of one statement carry hashes that verify, with personal parts that are there or not", async () => {
  const tenant = await service.newTenant();
  const { appendRows } = await import("#runtime/ledgers.ts");
  const rowsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      property_id: tenant.id,
      id: randomUUIDv7(),
      actor_type: "system",
      action: "counted",
      ...(index % 2 === 0 && { diff: { tier: 'Gold "é"' }, ip: "192.0.2.1", request_id: `r${index}` }),
    }));
  const written = [1, 4, 5, 40].map(rowsOf);
  await service.internals.db.asProperty(tenant.id, async (sql) => {
    for (const rows of written) await appendRows(sql, "audit_logs", rows);
  });
  await seal(tenant);
  expect(await verify(tenant)).toMatchObject({ intact: true });
  const salts = await admin`
    select distinct salt from audit_logs where property_id = ${tenant.id} and action = 'counted' and length(salt) = 32`;
  expect(salts).toHaveLength(written.flat().length);
});

test("many who seal at the same time make one chain, which is verified page by page", async () => {
  const tenant = await service.newTenant();
  for (let index = 0; index < 22; index++)
    await service.call("create_player", { email: `led${++made}@example.com` }, tenant.id);
  await Promise.all(Array.from({ length: 4 }, () => seal(tenant, 1)));
  const seals = await admin`
    select seq from ledger_seals where property_id = ${tenant.id} and ledger = 'audit_logs' order by seq`;
  expect(seals.map(({ seq }) => seq)).toEqual(seals.map((_, index) => index + 1));
  const page = async (fromSeal: number) =>
    (await verify(tenant, { ledger: "audit_logs", fromSeal })).ledgers[0];
  expect(await page(1)).toMatchObject({ intact: true, seals: 20, next_seal: 21 });
  expect(await page(21)).toMatchObject({ intact: true, seals: seals.length - 20, next_seal: null });
  const [row] = await admin`
    select row_ids[1] as id from ledger_seals
    where property_id = ${tenant.id} and ledger = 'audit_logs' and seq = 22`;
  await admin`delete from audit_logs where id = ${row!.id}`;
  expect(await page(1)).toMatchObject({ intact: true });
  expect(await page(21)).toMatchObject({ first: { kind: "row_removed", row_id: row!.id, seal: 22 } });
});

test("the scheduled job seals every property's ledgers", async () => {
  const { tenant } = await sealedTenant(1);
  await admin`update ledger_seals set created_at = now() where property_id = ${tenant.id}`;
  const other = await service.newTenant();
  await service.call("create_player", { email: `led${++made}@example.com` }, other.id);
  await admin`
    insert into audit_logs (property_id, id, actor_type, action, record_hash, created_at, updated_at)
    values (${other.id}, ${randomUUIDv7()}, 'system', 'old', 'x', now() - interval '1 hour', now() - interval '1 hour')`;
  const { enqueue } = await import("#runtime/jobs/queue.ts");
  const { default: job } = await import("#tools/ledgers/seal-ledgers.job.ts");
  await service.internals.db.asSystem((sql) => enqueue(sql, job, {}));
  await vi.waitFor(async () => {
    const [row] =
      await admin`select count(*)::int as seals from ledger_seals where property_id = ${other.id}`;
    expect(row!.seals).toBe(1);
  }, 10_000);
});

test("a lawful erasure leaves the ledgers intact, and blanking without one is named", async () => {
  const { tenant, ids } = await sealedTenant(4);
  const [gone, other] = ids as [string, string];
  const { body } = await service.post(
    "/api/functions/data-deletion",
    { propertyId: tenant.id, playerId: gone },
    { "X-Api-Key": tenant.key },
  );
  expect(body.anonymized).toMatchObject({ consent_records: 1 });
  expect(await verify(tenant)).toMatchObject({ intact: true });
  await seal(tenant);
  expect(await verify(tenant)).toMatchObject({ intact: true });
  const [theirs] = await admin<{ id: string }[]>`select id from consent_records where player_id = ${other}`;
  await admin`
    update consent_records set player_id = null, consent_source = null, consent_text = null, consent_text_sha256 = null,
      consent_version = null, jurisdiction = null, ip_address = null, user_agent = null, address_hash = null,
      salt = null, erased_by = ${body.request_id} where id = ${theirs!.id}`;
  expect(await firstOf(tenant, "consent_records")).toMatchObject({ kind: "row_blanked" });
  // The audit row of the erasure that is made to name this row too has no longer its own hash.
  await admin`
    update audit_logs set diff = jsonb_set(diff, '{blanked,consent_records}', (
      select jsonb_build_object('rows', count(*),
        'ids_sha256', encode(sha256(convert_to(string_agg(id::text, ',' order by id), 'UTF8')), 'hex'))
      from consent_records where property_id = ${tenant.id} and erased_by = ${body.request_id}))
    where property_id = ${tenant.id} and entity_id = ${body.request_id}`;
  expect(await firstOf(tenant, "consent_records")).toMatchObject({ kind: "row_blanked" });
});

test("words that are put into an erased row are named", async () => {
  const { tenant, ids } = await sealedTenant(2);
  await service.post(
    "/api/functions/data-deletion",
    { propertyId: tenant.id, playerId: ids[0] },
    { "X-Api-Key": tenant.key },
  );
  expect(await firstOf(tenant, "consent_records")).toBeNull();
  const put = await admin`
    update consent_records set consent_text = 'Write to me' where property_id = ${tenant.id} and erased_by is not null
    returning id`;
  expect(put).toHaveLength(1);
  expect(await firstOf(tenant, "consent_records")).toMatchObject({ kind: "row_changed", row_id: put[0]!.id });
});
