import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
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

test("a job that knew persons says on its retry that it knows them no more", async () => {
  const id = await die({ name: "send_password_reset" });
  await admin`update queue set is_impersonal = true where id = ${id}`;
  expect(await service.call("retry_job", { jobId: id, dry_run: true })).toMatchObject({
    without_persons: true,
  });
});

test("a campaign whose job is gone gets it again, and is sent", async () => {
  const campaign = await inProperty("create_campaign", {
    name: "Stranded",
    subject: "Hi",
    body_html: "<p>Hi</p>",
    audience: "all",
    from_email: "us@example.com",
  });
  const campaignId = campaign.id as string;
  const status = async () => (await inProperty("get_campaign", { id: campaignId })).status;
  const revive = async () => {
    await admin`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'revive_campaigns', '{}', 1)`;
    service.internals.wake();
    await service.idle();
  };
  await admin`update campaigns set status = 'queued' where id = ${campaignId}`;
  const live = await admin<{ id: string }[]>`
    insert into queue (id, name, property_id, input, max_attempts, run_at)
    values (uuid_v7(), 'plan_campaign', ${service.tenant.id}, ${{ campaignId } as never}, 100, now() + interval '1 hour')
    returning id`;
  await revive();
  expect(await status(), "its job only waits").toBe("queued");
  await admin`update queue set state = 'dead' where id = ${live[0]!.id}`;
  await revive();
  expect(await status()).toBe("sent");

  await admin`
    update campaigns set status = 'scheduled', scheduled_at = now() - interval '10 minutes', fires_at = null,
      planned_at = null, plan_cursor = null where id = ${campaignId}`;
  await revive();
  expect(await status(), "due, and nobody fired it").toBe("sent");
});
