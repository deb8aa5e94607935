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

test("confirmations of agents are forgotten once they have expired, used or not, of every property", async () => {
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
