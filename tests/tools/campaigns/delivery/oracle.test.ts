import fc from "fast-check";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { toFault } from "#runtime/faults.ts";
import { shifted } from "../../../support/database.ts";
import { Killed, loseWorker, vendor } from "../../../support/job-runner.ts";
import { isFull } from "../../../support/proof-size.ts";
import { scenarioIn } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
// Without a worker: the test runs its jobs, two at once.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
afterEach(() => vi.restoreAllMocks());

const PLAYERS = 40;
const MOST_ROUNDS = 60;

/** The fates of a message at a vendor. `taken`: it has the message, and nobody is told. */
const FATES = ["sent", "sent", "sent", "sent", "refused", "late", "busy", "taken", "lost", "failed"] as const;
type Fate = (typeof FATES)[number];

function outcomeOf({ id }: EmailMessage, fate: Fate): SendOutcome {
  const about = { id, code: "smtp_451", message: fate };
  if (fate === "sent") return { id, status: "sent", providerMessageId: id };
  if (fate === "failed") return { ...about, status: "failed" };
  if (fate === "taken" || fate === "lost") return { ...about, status: "unknown" };
  if (fate === "late") return { ...about, status: "retry", code: "late" };
  return { ...about, status: "retry", ...(fate === "busy" && { busy: true }) };
}

const plan = fc.record({
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 60, maxLength: 60 }),
  /** After how many messages a shift is over. */
  shift: fc.integer({ min: 3, max: 30 }),
  /** After how many transactions each worker of a round is killed. */
  kills: fc.array(fc.option(fc.integer({ min: 1, max: 12 })), { minLength: 6, maxLength: 6 }),
  repeatable: fc.boolean(),
  throttle_per_minute: fc.constantFrom(null, 15),
  capped: fc.boolean(),
});

async function deliver({ fates, shift, kills, repeatable, throttle_per_minute, capped }: Plan) {
  const { id: propertyId } = await service.newTenant();
  const scenario = scenarioIn(service, propertyId);
  if (capped)
    await scenario.call("create_frequency_rule", { channel: "email", max_sends: 3, window_unit: "day" });
  const id = await scenario.planned(PLAYERS, { throttle_per_minute });
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + ahead);
  let count = 0;
  const taken: string[] = [];
  const told = new Map<string, Set<Fate>>();
  const { sender } = vendor({
    repeatable,
    concurrency: 9,
    answer: (message) => {
      count += 1;
      if (count % shift === 0) ahead += 11_000;
      const fate = fates[count % fates.length]!;
      told.set(message.to, (told.get(message.to) ?? new Set()).add(fate));
      const has = repeatable && taken.includes(message.to);
      if ((fate === "sent" || fate === "taken") && !has) taken.push(message.to);
      return outcomeOf(message, fate);
    },
  });
  let wasKilled = false;
  const worker = async (left: number | null | undefined) => {
    try {
      await scenario.work({ open: () => sender, ...(left && { killedAfter: { left } }) });
    } catch (error) {
      // A transaction that the clock's leap met has had no answer in time.
      if (!(error instanceof Killed || toFault(error).code === "unavailable")) throw error;
      wasKilled = true;
    }
  };
  let rounds = 0;
  for (; (await scenario.get(id)).status === "sending"; rounds += 1) {
    expect(rounds).toBeLessThan(MOST_ROUNDS);
    await Promise.all([kills[2 * rounds], kills[2 * rounds + 1]].map(worker));
    await loseWorker(service, propertyId);
    await service.internals.db.asSystem(async (sql) => {
      // Another job of the same campaign, as a resumption or a choice begins one.
      await sql`
        insert into queue (id, name, property_id, input, max_attempts)
        values (uuid_v7(), 'deliver_campaign', ${propertyId}, ${{ campaignId: id } as never}, 100)`;
      await sql`update queue set run_at = now() where property_id = ${propertyId}`;
    });
    await scenario.query(async (sql) => {
      await sql`
        update campaign_sends set scheduled_for = now()
        where property_id = ${propertyId} and status in ('pending', 'deferred')`;
      await sql`update campaign_claims set claimed_at = ${shifted("claimed_at", "-2 minutes")} where property_id = ${propertyId}`;
    });
  }
  vi.restoreAllMocks();
  return { sends: await scenario.sends(id), campaign: await scenario.get(id), taken, told, wasKilled };
}
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

test.each(Array.from({ length: isFull ? 100 : 8 }, (_, index) => index + 1))(
  "nobody is left out or gets a second message, after all fates of messages, shifts and workers (campaign %i)",
  async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const { sends, campaign, taken, told, wasKilled } = await deliver(given);
        expect(campaign.status).toBe("sent");
        expect(taken.length).toBe(new Set(taken).size);
        expect(sends).toHaveLength(PLAYERS);
        for (const { player, status } of sends) {
          const to = `${player.replace("-", "")}@example.com`;
          const fates = told.get(to) ?? new Set();
          const unclear = wasKilled || fates.has("taken") || fates.has("lost");
          const ended =
            (status === "sent" && taken.includes(to)) ||
            (status === "failed" && (fates.has("failed") || fates.has("refused"))) ||
            (status === "unknown" && unclear);
          expect({ to, status, fates: [...fates], ended }).toMatchObject({ ended: true });
        }
      }),
      // A smaller example is not worth the minutes that it takes to find.
      { numRuns: 1, endOnFailure: true },
    );
  },
);
