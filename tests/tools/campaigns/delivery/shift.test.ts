import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { Killed, loseWorker, vendor } from "../../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;

// Without a worker: the tests run its jobs.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service, { from_email: "offers@casino.example" });
});
afterEach(() => vi.restoreAllMocks());

const sent = ({ id }: EmailMessage): SendOutcome => ({ id, status: "sent", providerMessageId: id });
const provider = (kind: string, changes: object = {}): Promise<{ id: string }> =>
  scenario.call("create_message_provider", {
    channel: "email",
    kind,
    name: kind,
    credentials: kind === "mailbox" ? {} : { api_key: "key" },
    allows_gaming: true,
    ...changes,
  });

const doubled = (given: EmailMessage[]) => given.length - new Set(given.map(({ to }) => to)).size;

/** Lets the clock run at a twentieth of its speed: no machine is so busy that a message comes late. */
function slowClock() {
  const now = performance.now.bind(performance);
  const start = now();
  vi.spyOn(performance, "now").mockImplementation(() => start + (now() - start) / 20);
}

/** Puts the clock forward. */
function clock() {
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + ahead);
  return (seconds: number) => {
    ahead += seconds * 1000;
  };
}

test("a campaign that takes long makes room for the property's other jobs after each shift", async () => {
  const pass = clock();
  const id = await scenario.planned(60);
  const other = await scenario.campaign({ name: "Other" });
  await scenario.send(other);
  const { sender, given } = vendor({
    concurrency: 4,
    answer: (message) => {
      if (given.length % 20 === 0) pass(11);
      return sent(message);
    },
  });
  const begun: number[] = [];
  await scenario.work({
    open: () => {
      begun.push(given.length);
      return sender;
    },
  });
  expect(begun.length).toBeGreaterThan(4);
  // The other campaign was planned and begun before the first was through.
  expect((await scenario.get(other)).status).toBe("sent");
  expect((await scenario.get(id)).status).toBe("sent");
  expect(given).toHaveLength(120);
  expect(new Set(given.map((one) => one.id)).size).toBe(120);
});

test("a shift that is killed is settled by the job that takes it over", async () => {
  const pass = clock();
  const id = await scenario.planned(30);
  const { sender, given } = vendor({
    concurrency: 4,
    answer: (message) => {
      pass(2);
      return sent(message);
    },
  });
  for (let left = 6; ; left += 7) {
    try {
      await scenario.work({ open: () => sender, killedAfter: { left } });
      break;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      await loseWorker(service, scenario.id);
    }
  }
  expect(doubled(given)).toBe(0);
  expect((await scenario.get(id)).status).toBe("sent");
  const { audience, sent: done, unknown } = await scenario.stats(id);
  expect([audience, done + unknown]).toEqual([30, 30]);
  expect(unknown).toBeGreaterThan(0);
});

test.each([
  ["is no longer active", { is_active: false }],
  ["is deleted", null],
])("a provider that %s gets nothing more from a campaign on its way", async (_, change) => {
  const first = await provider("sendgrid", { is_default: true });
  await provider("resend");
  const id = await scenario.planned(40);
  let changed: Promise<unknown> | undefined;
  const one = vendor({
    concurrency: 4,
    answer: async (message) => {
      changed ??= change
        ? scenario.call("update_message_provider", { id: first.id, ...change })
        : scenario.call("delete_message_provider", { id: first.id });
      await changed;
      return sent(message);
    },
  });
  const other = vendor();
  await scenario.work({ open: (_keep, { name }) => (name === "sendgrid" ? one : other).sender });
  expect(one.given.length).toBeLessThanOrEqual(6);
  expect(one.given.length + other.given.length).toBe(40);
  expect(doubled([...one.given, ...other.given])).toBe(0);
  expect((await scenario.get(id)).status).toBe("sent");
});

test("a limit that is lowered holds for a campaign on its way", async () => {
  const { id: limited } = await provider("sendgrid", { daily_limit: 100_000 });
  const id = await scenario.planned(40);
  let changed: Promise<unknown> | undefined;
  const { sender, given } = vendor({
    concurrency: 4,
    answer: async (message) => {
      changed ??= scenario.call("update_message_provider", { id: limited, daily_limit: 10 });
      await changed;
      return sent(message);
    },
  });
  await scenario.work({ open: () => sender });
  expect(given).toHaveLength(10);
  expect(await scenario.stats(id)).toMatchObject({ status: "sending", sent: 10, pending: 30 });
});

test("when all of a property's own providers are put out of use, the service's own does not take their place", async () => {
  const { id: only } = await provider("sendgrid");
  const id = await scenario.planned(40);
  let changed: Promise<unknown> | undefined;
  const one = vendor({
    concurrency: 4,
    answer: async (message) => {
      changed ??= scenario.call("update_message_provider", { id: only, is_active: false });
      await changed;
      return sent(message);
    },
  });
  const own = vendor();
  await scenario.work({ open: (_keep, { name }) => (name === "sendgrid" ? one : own).sender });
  expect(own.given).toEqual([]);
  expect(await scenario.get(id)).toMatchObject({
    status: "failed",
    status_reason: expect.stringContaining("is not active"),
  });
  await scenario.call("update_message_provider", { id: only, is_active: true });
  await scenario.send(id);
  await scenario.work({ open: () => one.sender });
  expect(one.given).toHaveLength(40);
  expect(doubled(one.given)).toBe(0);
});

test("a shift begins with small batches, which grow until messages come too late, and shrink to those in time", async () => {
  await scenario.planned(1_000);
  slowClock();
  const { sender } = vendor({ concurrency: 600 });
  const late = ({ id }: EmailMessage): SendOutcome => ({
    id,
    status: "retry",
    code: "late",
    message: "Late.",
  });
  const sizes: number[] = [];
  const send: typeof sender.send = async (messages, options) => {
    sizes.push(messages.length);
    if (messages.length !== 100) return sender.send(messages, options);
    return [...(await sender.send(messages.slice(0, 60), options)), ...messages.slice(60).map(late)];
  };
  await scenario.work({ open: () => ({ ...sender, send }) });
  expect(sizes[0]).toBe(50);
  expect(sizes).toContain(100);
  expect(sizes).toContain(60);
});
