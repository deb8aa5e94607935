import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let rival: Tenant;
let admin: postgres.Sql;
beforeAll(async () => {
  service = await startService();
  rival = await service.newTenant();
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

async function sweep(): Promise<void> {
  await admin`
    insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'forget_expired', '{}', 1)`;
  service.internals.wake();
  await service.idle();
}

/** An endpoint that nobody delivers to, and events of an age, each with a delivery of a status. */
async function told(
  { id }: Tenant,
  cases: [name: string, age: string, status: string | null, touched: string][],
) {
  const [endpoint] = await admin<{ id: string }[]>`
    insert into webhook_endpoints (property_id, id, url, events, secret, is_active)
    values (${id}, uuid_v7(), 'https://receiver.example', '{*}', 'sealed', false) returning id`;
  for (const [name, age, status, touched] of cases) {
    const [event] = await admin<{ id: string }[]>`
      insert into outbox (property_id, id, type, data, occurred_at)
      values (${id}, (lpad(to_hex(floor(extract(epoch from now() - ${age}::interval) * 1000)::bigint), 12, '0')
          || '7000' || substr(md5(${name + id}), 1, 16))::uuid, 'player.created', ${{ name } as never},
        now() - ${age}::interval)
      returning id`;
    if (status === null) continue;
    await admin`
      insert into webhook_deliveries (property_id, event_id, event_type, endpoint_id, status, created_at, updated_at)
      values (${id}, ${event!.id}, 'player.created', ${endpoint!.id}, ${status}, now() - ${age}::interval,
        now() - ${touched}::interval)`;
  }
}

const left = async ({ id }: Tenant) =>
  (
    await admin<{ name: string; status: string | null }[]>`
      select e.data ->> 'name' as name, d.status from outbox e
      left join webhook_deliveries d on d.property_id = e.property_id and d.event_id = e.id
      where e.property_id = ${id} order by name`
  ).map(({ name, status }) => [name, status]);

test("callbacks are forgotten thirty days after they were settled, of every property, and none that is open", async () => {
  for (const tenant of [service.tenant, rival]) {
    await told(tenant, [
      ["old and delivered", "31 days", "delivered", "31 days"],
      ["old and failed", "40 days", "failed", "31 days"],
      ["old and discarded", "40 days", "discarded", "35 days"],
      ["old and of an endpoint that is gone", "31 days", null, ""],
      ["old and open", "90 days", "pending", "80 days"],
      ["old and lately asked for again", "90 days", "delivered", "2 days"],
      ["young", "29 days", "delivered", "29 days"],
    ]);
  }
  await sweep();
  for (const tenant of [service.tenant, rival]) {
    expect(await left(tenant)).toEqual([
      ["old and lately asked for again", "delivered"],
      ["old and open", "pending"],
      ["young", "delivered"],
    ]);
  }
});

test("more callbacks than one transaction removes are all forgotten", async () => {
  await admin`
    insert into outbox (property_id, id, type, data, occurred_at)
    select ${rival.id}, (lpad(to_hex((extract(epoch from now() - interval '50 days') * 1000)::bigint + n), 12, '0')
        || '70008000000000000000')::uuid, 'player.created', '{"name": "many"}', now() - interval '50 days'
    from generate_series(1, 10500) n returning 1`;
  await sweep();
  expect((await left(rival)).filter(([name]) => name === "many")).toEqual([]);
});

test("what agents were to confirm is forgotten once it has expired, used or not, of every property", async () => {
  const token = (property: string, tool: string, left: string) => admin`
    insert into agent_confirmations (property_id, id, tool, arguments_hash, used_at, expires_at)
    values (${property}, sha256(convert_to(${tool}, 'UTF8')), ${tool}, ''::bytea,
      case when ${tool} = 'used' then now() end, now() + ${left}::interval)`;
  for (const { id } of [service.tenant, rival]) {
    await token(id, "expired", "-1 second");
    await token(id, "used", "-1 minute");
    await token(id, "open", "5 minutes");
  }
  await sweep();
  const kept = await admin<{ tool: string }[]>`select tool from agent_confirmations`;
  expect(kept.map(({ tool }) => tool)).toEqual(["open", "open"]);
});

test("a job that failed for good is forgotten thirty days later, with whomever it names, and none that is still to run", async () => {
  const job = (name: string, state: string, age: string, run: string) => admin`
    insert into queue (id, name, property_id, input, max_attempts, state, created_at, run_at)
    values (uuid_v7(), ${name}, ${service.tenant.id}, '{"address": "ana@example.com"}', 1, ${state},
      now() - ${age}::interval, now() - ${run}::interval)`;
  await job("died long ago", "dead", "40 days", "31 days");
  await job("died of late", "dead", "40 days", "29 days");
  await job("died at once", "dead", "1 day", "1 day");
  await job("nobody knows it", "ready", "40 days", "40 days");
  await sweep();
  const names = await admin`select name from queue where input ? 'address' order by name`;
  expect(names.map(({ name }) => name)).toEqual(["died at once", "died of late", "nobody knows it"]);
});
