import { pino } from "pino";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { vendor } from "../../support/job-runner.ts";
import { newScenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

interface Line {
  level: number;
  msg: string;
  [field: string]: unknown;
}

const lines: Line[] = [];
let service: TestService;
let admin: postgres.Sql;
beforeAll(async () => {
  const log = pino(
    { level: "info", base: null },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  service = await startService({ role: "web" }, { log });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await service.stop();
});

const WARN = 40;
const words = "connect ECONNREFUSED 10.0.0.1:443";

/** A vendor that is down until it is repaired. */
function outage() {
  const state = { isDown: true };
  const answer = ({ id }: EmailMessage): SendOutcome =>
    state.isDown
      ? { id, status: "retry", code: "not_connected", message: words, busy: true }
      : { id, status: "sent", providerMessageId: id };
  const { sender } = vendor({ answer });
  const repair = () => {
    state.isDown = false;
  };
  return { repair, open: () => sender };
}

test("an outage of a provider is reported once by the log, an event and the campaign, and so is its end", async () => {
  const scenario = await newScenario(service, { from_email: "offers@casino.example" });
  await scenario.call("create_webhook_endpoint", {
    url: "https://receiver.example/x",
    events: ["provider.*"],
  });
  const { id: provider } = await scenario.call("create_message_provider", {
    channel: "email",
    kind: "resend",
    name: "Main vendor",
    credentials: { api_key: "re" },
    allows_gaming: true,
  });
  const broken = outage();
  const id = await scenario.planned(5);
  const hurry = () =>
    admin`update queue set run_at = now() where property_id = ${scenario.id} and name = 'deliver_campaign'`;
  const due = () =>
    admin`update campaign_sends set scheduled_for = null where property_id = ${scenario.id} and status = 'pending'`;
  for (const _ of ["down", "still down"]) {
    await scenario.work({ open: broken.open });
    await Promise.all([hurry(), due()]);
  }
  const reason = async () => (await scenario.call("get_campaign", { id })).status_reason;
  expect(await reason()).toBe(
    "The email provider resend takes no messages (not_connected). It is tried again by itself.",
  );
  broken.repair();
  await scenario.work({ open: broken.open });
  expect(await scenario.tally(id)).toEqual({ sent: 5 });
  expect(await reason()).toBeNull();

  const events =
    await admin`select type, data -> 'object' as object from outbox where property_id = ${scenario.id} order by id`;
  const about = { id: provider, name: "Main vendor", channel: "email", kind: "resend" };
  expect(events).toEqual([
    {
      type: "provider.failing",
      object: { ...about, health: "failing", last_error: `not_connected: ${words}` },
    },
    { type: "provider.recovered", object: { ...about, health: "ok", last_error: null } },
  ]);
  const told = lines.filter(({ msg }) => msg === "a provider's health has changed");
  expect(told).toMatchObject([
    { level: WARN, provider, was: "unknown", health: "failing", code: "not_connected" },
    { level: WARN, provider, was: "failing", health: "ok" },
  ]);
});
