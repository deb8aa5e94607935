import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

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

interface Dead {
  name: string;
  input?: object;
  age?: string;
}

async function die({ name, input = {}, age = "0" }: Dead): Promise<string> {
  const [job] = await admin<{ id: string }[]>`
    insert into queue (id, name, property_id, input, state, run_at, attempts, max_attempts, last_error)
    values (uuid_v7(), ${name}, ${service.tenant.id}, ${input as never}, 'dead', now() - ${age}::interval, 20, 20,
      'Error: the vendor was gone')
    returning id`;
  return job!.id;
}

const inProperty = (operation: string, input: object) => service.call(operation, input, service.tenant.id);

test("a dead job is listed with its error, retried by an operator, and does what it would have done", async () => {
  await inProperty("create_player", { player_id: "vexed", email: "vexed@example.com" });
  const provider = await inProperty("create_message_provider", {
    name: "Vendor",
    channel: "email",
    kind: "mailbox",
    credentials: {},
    allows_gaming: true,
  });
  const notice = {
    kind: "complained",
    eventId: randomUUID(),
    at: new Date().toISOString(),
    address: "vexed@example.com",
  };
  const id = await die({ name: "receive_notices", input: { providerId: provider.id, notices: [notice] } });
  const { jobs } = await service.call("list_jobs", { name: "receive_notices" });
  expect(jobs).toEqual([
    expect.objectContaining({
      id,
      state: "dead",
      property_id: service.tenant.id,
      attempts: 20,
      last_error: "Error: the vendor was gone",
    }),
  ]);

  expect(await service.call("retry_job", { jobId: id, dry_run: true })).toMatchObject({ dry_run: true });
  expect((await service.call("list_jobs", { state: "dead" })).jobs).toHaveLength(1);
  expect(await service.call("retry_job", { jobId: id })).toEqual({
    success: true,
    name: "receive_notices",
    without_persons: false,
  });
  await service.idle();
  expect((await service.call("list_jobs", {})).jobs).toEqual([]);
  const suppressed = await inProperty("list_suppressions", { filters: { "reason.eq": "complaint" } });
  expect(suppressed).toHaveLength(1);
  await expect(service.call("retry_job", { jobId: id })).rejects.toThrow("No job with the id");
});

test("an agent's person reads which job runs again, of which property, and why it failed", async () => {
  const id = await die({ name: "send_test" });
  const { token } = await service.signIn({ role: null, platformAdmin: true });
  const { data } = await onceOverMcp(
    service,
    CATALOG.operations.get("retry_job")!,
    { jobId: id },
    { "X-Api-Key": null, Authorization: `Bearer ${token}` },
  );
  expect(data.message).toContain(
    `The job "send_test" of the property ${JSON.stringify(service.tenant.slug)} runs again now, and may send messages. It failed for good: "Error: the vendor was gone".`,
  );
});

test("a job that knew persons says on its retry that it knows them no more", async () => {
  const id = await die({ name: "send_password_reset" });
  await admin`update queue set is_impersonal = true where id = ${id}`;
  expect(await service.call("retry_job", { jobId: id, dry_run: true })).toMatchObject({
    without_persons: true,
  });
});

test("a campaign whose job is gone gets it again, and is sent", async () => {
  const web = await startService({ role: "web" });
  const { tenant, database } = web;
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  const made = async (name: string): Promise<string> => {
    const words = { subject: "Hi", body_html: "<p>Hi</p>", from_email: "us@example.com" };
    return (await web.call("create_campaign", { name, audience: "all", ...words }, tenant.id)).id;
  };
  const [queued, due, later] = [await made("Queued"), await made("Due"), await made("Later")];
  const propertyId = tenant.id;
  await web.call("send_campaign", { campaignId: queued, propertyId }, tenant.id);
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  for (const campaignId of [due, later]) {
    await web.call("schedule_campaign", { campaignId, propertyId, scheduledAt, segmentId: null }, tenant.id);
  }
  await sql`update campaigns set fires_at = now() - interval '10 minutes' where id = ${due}`;
  await sql`update queue set state = 'dead' where input ->> 'campaignId' in ${sql([queued, due])}`;
  await sql`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'revive_campaigns', '{}', 1)`;
  const worker = await startService({ role: "worker" }, { database });
  try {
    await worker.idle();
    const states = await sql`select name, status from campaigns order by name`;
    expect(states.map(({ name, status }) => [name, status])).toEqual([
      ["Due", "sent"],
      ["Later", "scheduled"],
      ["Queued", "sent"],
    ]);
  } finally {
    await worker.running.stop();
    await sql.end();
    await web.stop();
  }
});

test("a campaign whose last waiting messages are cancelled is sent, before the time that they waited for", async () => {
  const { id: property } = await service.newTenant();
  const { id: playerId } = await service.call("create_player", { email: "waits@example.com" }, property);
  const consent = { propertyId: property, playerId, channel: "email" };
  await service.call("consent_record", { ...consent, consentGiven: true });
  const cap = { max_sends: 1, channel: "email", window_unit: "day" };
  await service.call("create_frequency_rule", cap, property);
  const send = async (name: string): Promise<string> => {
    const words = { subject: "Hi", body_html: "<p>Hi</p>", from_email: "us@example.com" };
    const { id } = await service.call("create_campaign", { name, audience: "all", ...words }, property);
    await service.call("send_campaign", { campaignId: id, propertyId: property }, property);
    await service.idle();
    return id;
  };
  await send("First");
  const id = await send("Waits");
  const status = async () => (await service.call("get_campaign", { id }, property)).status;
  expect(await status()).toBe("sending");
  await service.call("consent_revoke", consent, property);
  await admin`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'revive_campaigns', '{}', 1)`;
  await vi.waitFor(async () => {
    await service.idle();
    expect(await status()).toBe("sent");
  }, 20_000);
});
