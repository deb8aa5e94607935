import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { expect, onTestFinished, test } from "vitest";
import { enterInstallation } from "#runtime/installation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { testDatabase } from "../support/database.ts";
import { onceOverMcp } from "../support/operation-calls.ts";
import { startService, type TestService } from "../support/service.ts";

const SECRET = { appSecret: "t".repeat(32) };

/** A service on a database that was cloned from another one, in which sending is not released. */
async function onClone(overrides: Parameters<typeof startService>[0] = {}): Promise<TestService> {
  const database = await testDatabase({ isReleased: false });
  const service = await startService(overrides, { database });
  onTestFinished(service.stop);
  return service;
}

async function campaignTo(service: TestService, player: string): Promise<string> {
  const { id } = await service.call(
    "create_player",
    { player_id: player, email: `${player}@example.com` },
    service.tenant.id,
  );
  await service.call(
    "consent_record",
    {
      propertyId: service.tenant.id,
      playerId: id,
      channel: "email",
      consentGiven: true,
      consentSource: "desk",
      consentText: "Yes",
      consentVersion: "1",
    },
    service.tenant.id,
  );
  const campaign = await service.call(
    "create_campaign",
    { name: player, subject: "Hi", body_html: "<p>Hi</p>", audience: "all", from_email: "us@example.com" },
    service.tenant.id,
  );
  await service.call(
    "send_campaign",
    { campaignId: campaign.id, propertyId: service.tenant.id },
    service.tenant.id,
  );
  return campaign.id;
}

const delivered = async (service: TestService) =>
  (await service.call("list_mailbox_messages", {}, service.tenant.id)).length;

test("a clone sends nothing until an operator has seen what would go, and releases it", async () => {
  const service = await onClone();
  expect(service.running.hold).toEqual({ since: expect.any(String), dataUntil: null });
  const campaignId = await campaignTo(service, "held");
  await service.idle();
  expect(await delivered(service)).toBe(0);

  const shown = await service.call("release_sending", { dry_run: true });
  expect(shown).toMatchObject({
    dry_run: true,
    campaigns: [{ id: campaignId, status: "sending", waiting: 1, property: service.tenant.slug }],
    known_until: [{ property: service.tenant.slug, last_refusal_at: null, last_erasure_at: null }],
  });
  const { token } = await service.signIn({ role: null, platformAdmin: true });
  const release = CATALOG.operations.get("release_sending")!;
  const asked = await onceOverMcp(
    service,
    release,
    {},
    { "X-Api-Key": null, Authorization: `Bearer ${token}` },
  );
  const slug = JSON.stringify(service.tenant.slug);
  expect(asked.data.message).toMatch(/"\w+" of "[\w-]+" by email is sending: 1 message waits\./);
  expect(asked.data.message).toContain(`Of ${slug} the newest refusal known here is of never`);
  await service.idle();
  expect(await delivered(service), "shown, and not released").toBe(0);

  await service.call("release_sending", {});
  await service.idle();
  expect(await delivered(service)).toBe(1);
  await expect(service.call("release_sending", {})).rejects.toThrow("Sending is not held.");
});

test("the preview of a release names the people who wait in journeys, and the webhooks that wait for their next try", async () => {
  const { url, drop, ...database } = await testDatabase();
  onTestFinished(drop);
  const service = await startService({}, { database: { url, drop, ...database } });
  onTestFinished(service.stop);
  const { id: propertyId, slug } = service.tenant;
  const call = (name: string, input: object) => service.call(name, input, propertyId);
  const { id: playerId } = await call("create_player", { player_id: "asleep" });
  const journey = await call("create_journey", { name: "Come back", draft_definition: SLEEP });
  await call("publish_journey", { journeyId: journey.id, propertyId });
  await call("create_journey_enrollment", { journey_id: journey.id, player_id: playerId });
  await call("create_webhook_endpoint", { url: "https://crm.invalid/hooks", events: ["player.updated"] });
  await call("update_player", { id: playerId, tier: "Gold" });
  await service.idle();

  const admin = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => admin.end());
  await admin`update installation set identity = 'of the original'`;
  const shown = await service.call("release_sending", { dry_run: true });
  expect(shown).toMatchObject({
    journeys: [{ property: slug, id: journey.id, name: "Come back", people: 1, next_at: expect.any(String) }],
    webhooks: [{ property: slug, waiting: 1 }],
  });
});

test("the preview of a release names each job that sends, also between two tries", async () => {
  const service = await onClone({ role: "web" });
  const names = [...CATALOG.jobs.values()].flatMap(({ name, sends }) => (sends ? [name] : []));
  await service.internals.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, input, max_attempts, run_at, state)
      select gen_random_uuid(), name, '{}', 1, now() + interval '20 seconds', s.state
      from unnest(${names}::text[]) name cross join unnest('{ready,running,dead}'::text[]) s(state)`,
  );
  const { jobs } = await service.call("release_sending", { dry_run: true });
  const shown = jobs.map(({ job, count }: { job: string; count: number }) => [job, count]);
  const listedAsOthers = ["deliver_campaign", "deliver_webhooks", "step_journey"];
  const others = names.filter((name) => !listedAsOthers.includes(name));
  expect(shown).toEqual(others.sort().map((name) => [name, 2]));
});

/** A player who enters waits for a day. */
const SLEEP = {
  nodes: [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "sleep", type: "delay", config: { by: "duration", duration: { amount: 1, unit: "days" } } },
    { id: "end", type: "exit", config: {} },
  ],
  edges: [
    { from: "in", to: "sleep" },
    { from: "sleep", to: "end" },
  ],
};

test("a process with SENDING=off sends nothing from a database that may", async () => {
  const service = await startService({ sending: false });
  onTestFinished(service.stop);
  await campaignTo(service, "off");
  await service.idle();
  expect(await delivered(service)).toBe(0);
  const [waiting] = await service.internals.db.asSystem(
    (sql) => sql`select name, state from queue where name = 'deliver_campaign'`,
  );
  expect(waiting).toEqual({ name: "deliver_campaign", state: "ready" });
});

test("a database tells how far its data went when it was first seen elsewhere, also after later writes", async () => {
  const { url, db, drop } = await testDatabase();
  onTestFinished(drop);
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => admin.end());
  const [property] = await admin<{ id: string }[]>`
    insert into properties (name, slug) values ('River', 'river') returning id`;
  const log = (at: string) => admin`
    insert into audit_logs (property_id, actor_type, action, record_hash, created_at)
    values (${property!.id}, 'system', 'x', '\\x00', ${at})`;
  await log("2026-03-01T10:00:00Z");
  await admin`update installation set identity = 'of the original'`;
  const first = await enterInstallation(db, SECRET);
  expect(first?.dataUntil).toBe("2026-03-01T10:00:00+00:00");
  await log("2026-03-02T10:00:00Z");
  expect(await enterInstallation(db, SECRET)).toEqual(first);
});

test("a database keeps to the APP_SECRET of its first start, after every change in it", async () => {
  const { db, drop } = await testDatabase();
  onTestFinished(drop);
  const other = { appSecret: randomUUID() };
  expect(await enterInstallation(db, SECRET)).toBeNull();
  await expect(enterInstallation(db, other)).rejects.toThrow("APP_SECRET: not the one");
  await expect(enterInstallation(db, other)).rejects.toThrow("APP_SECRET: not the one");
  expect(await enterInstallation(db, SECRET)).toBeNull();
});
