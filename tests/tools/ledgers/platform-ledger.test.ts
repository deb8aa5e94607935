import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { raw } from "#db/sql.ts";
import { safeHorizon, sealNext } from "#tools/ledgers/seals.ts";
import { startService, type TestService } from "../../support/service.ts";

const CHAIN = { ledger: "system_audit_logs", propertyId: null } as const;

let service: TestService;
let admin: postgres.Sql;
let userId: string;
beforeAll(async () => {
  service = await startService();
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  const account = { email: "ann@example.com", password: "correct horse battery staple" };
  ({ id: userId } = await service.call("create_user", account));
  for (const name of ["Ann", "Bea", "Cid", "Dee"])
    await service.call("update_user", { user_id: userId, name });
  await seal();
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

/** Closes what is there now, in ranges of two rows, as soon as nothing older is open. */
async function seal(): Promise<void> {
  const { db, config } = service.internals;
  await vi.waitFor(async () => {
    const horizon = (await db.asSystem((sql) => safeHorizon(sql, 0)))!;
    while (await db.asSystem((sql) => sealNext(sql, config, CHAIN, { horizon, most: 2 }))) {}
    const [open] = await admin`
      select count(*)::int as rows from system_audit_logs
      where created_at > (select max(to_at) from system_ledger_seals)`;
    expect(open).toEqual({ rows: 0 });
  }, 10_000);
}

const list = async (input: object = {}) =>
  (await service.call("list_platform_audit_logs", input)).audit_logs as Record<string, unknown>[];
const verify = (input: object = {}) => service.call("verify_platform_ledger", input);

/** Changes something as a superuser, who is above every right, and puts the table back. */
async function tampering(table: string, change: string, look: () => Promise<void>): Promise<void> {
  await admin.unsafe(`create temp table kept as select * from ${table}`);
  await admin.unsafe(change);
  try {
    await look();
  } finally {
    await admin.unsafe(`delete from ${table}; insert into ${table} select * from kept; drop table kept`);
  }
}

test("acts on the installation are listed for its operators, newest first, page by page", async () => {
  const all = await list();
  expect(all.slice(0, 4)).toMatchObject(Array(4).fill({ action: "update_user", entity_id: userId }));
  expect(all.at(-1)).toMatchObject({
    at: expect.stringMatching(/^\d{4}-/),
    actor: { type: "system", id: null },
    record_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(await list({ entityId: userId, action: "create_user" })).toHaveLength(1);
  const first = await list({ limit: 2 });
  const rest = await list({ before: first[1]!.id });
  expect([...first, ...rest].map(({ id }) => id)).toEqual(all.map(({ id }) => id));
});

test("nobody but an operator reads it or asks whether it is whole", async () => {
  const manager = await service.signIn({ role: "admin" });
  const operator = await service.signIn({ role: null, platformAdmin: true });
  for (const name of ["list-platform-audit-logs", "verify-platform-ledger"]) {
    const ask = (headers: Record<string, string | null>) =>
      service.post(`/api/functions/${name}`, {}, headers);
    expect((await ask({})).status, name).toBe(403);
    const as = (token: string) => ({ "X-Api-Key": null, Authorization: `Bearer ${token}` });
    expect((await ask(as(manager.token))).status, name).toBe(403);
    expect((await ask(as(operator.token))).status, name).toBe(200);
  }
});

test("a ledger that was written in the usual way is intact, page by page, with the rows of a job too", async () => {
  const { email } = await service.signIn();
  await service.call("request_password_reset", { email });
  await service.idle();
  expect(await list({ action: "send_password_reset" })).toHaveLength(1);
  const before = await verify();
  expect(before).toMatchObject({ intact: true, next_seal: null, other_secret: 0, first: null });
  expect(before.seals).toBeGreaterThan(1);
  await seal();
  expect(await verify()).toMatchObject({ intact: true });
  expect((await verify({ fromSeal: 2 })).seals).toBe((await verify()).seals - 1);
});

test("a row that is changed, taken out or put in is named with its seal, and so is one that is not sealed yet", async () => {
  const [third] = await admin<{ id: string }[]>`
    select id from system_audit_logs order by created_at, id offset 2 limit 1`;
  const id = third!.id;
  const table = "system_audit_logs";
  const columns = await admin<{ name: string; type: string }[]>`
    select column_name as name, data_type as type from information_schema.columns
    where table_name = ${table} and column_name not in ('id')`;
  const others: Record<string, string> = {
    text: "'tampered'",
    uuid: "uuid_v7()",
    jsonb: `'{"a": 1}'`,
    bytea: "sha256('x')",
    "timestamp with time zone": "now() + interval '1 day'",
  };
  for (const { name, type } of columns) {
    await tampering(table, `update ${table} set ${name} = ${others[type]} where id = '${id}'`, async () =>
      expect((await verify()).first, name).toMatchObject({ row_id: id }),
    );
  }
  await tampering(table, `delete from ${table} where id = '${id}'`, async () =>
    expect((await verify()).first).toMatchObject({ kind: "row_removed", row_id: id, seal: 2 }),
  );
  const put = randomUUID();
  const copy = `insert into ${table} (id, actor_type, action, record_hash, created_at)
    select '${put}', actor_type, 'other', record_hash, created_at from ${table} where id = '${id}'`;
  await tampering(table, copy, async () =>
    expect((await verify()).first).toMatchObject({ row_id: put, seal: 2 }),
  );
  await service.call("update_user", { user_id: userId, name: "Eve" });
  const [open] = await list({ limit: 1 });
  await tampering(table, `update ${table} set actor_type = 'user' where id = '${open!.id}'`, async () =>
    expect((await verify()).first).toMatchObject({ kind: "row_changed", row_id: open!.id, seal: null }),
  );
  expect(await verify()).toMatchObject({ intact: true });
});

test("a seal that is changed or gone is named, the last one too", async () => {
  const table = "system_ledger_seals";
  const [{ last }] = (await admin`select max(seq) as last from system_ledger_seals`) as unknown as [
    { last: number },
  ];
  for (const [change, flaw] of [
    [`delete from ${table} where seq = 1`, { kind: "seal_removed", seal: 1 }],
    [`delete from ${table} where seq = ${last}`, { kind: "seal_removed", seal: last }],
    [`update ${table} set mac = sha256('x') where seq = 2`, { kind: "seal_changed", seal: 2 }],
    [
      `update ${table} set to_at = to_at + interval '1 microsecond' where seq = 1`,
      { kind: "seal_changed", seal: 1 },
    ],
  ] as const) {
    await tampering(table, change, async () => expect((await verify()).first, change).toMatchObject(flaw));
  }
  expect(await verify()).toMatchObject({ intact: true });
});

test("the service can add to it, and change or remove nothing", async () => {
  for (const change of [
    "update system_audit_logs set action = 'x'",
    "delete from system_audit_logs",
    "update system_ledger_seals set seq = 9",
    "delete from system_ledger_seals",
    "delete from system_ledger_heads",
  ]) {
    await expect(
      service.database.db.asSystem((sql) => sql`${raw(change)}`),
      change,
    ).rejects.toMatchObject({ code: "42501" });
  }
});

test("the scheduled job seals the platform's ledger too", async () => {
  await admin`
    insert into system_audit_logs (actor_type, action, record_hash, created_at, updated_at)
    values ('system', 'old', 'x', now() - interval '1 hour', now() - interval '1 hour')`;
  const { enqueue } = await import("#runtime/jobs/queue.ts");
  const { default: job } = await import("#tools/ledgers/seal-ledgers.job.ts");
  await admin`delete from system_ledger_seals`;
  await service.internals.db.asSystem((sql) => enqueue(sql, job, {}));
  await vi.waitFor(async () => {
    expect((await admin`select from system_ledger_seals`).count).toBe(1);
  }, 10_000);
});
