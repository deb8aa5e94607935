import { must } from "../support/calls.ts";
import { COUNTING, type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { type Installation, openEmbeddedInstallation } from "../support/installation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";
import { sentOf, statsOf, statsProblems, statusOf } from "./campaign.fault.ts";

const PATIENCE = 120_000;
const WINNER = "b";
const TEST = {
  variants: [
    { id: "a", weight: 1, subject: "Offer a" },
    { id: WINNER, weight: 1, subject: `Offer ${WINNER}` },
  ],
  test_percent: 50,
  metric: "open",
  duration_minutes: 60,
  min_sample: 1,
};

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    // A restart takes its own database's jobs back at once: of another it would wait for four leases.
    const installation = await openEmbeddedInstallation();
    try {
      report(
        "kill -9 four times in a campaign's test",
        await killedTest(installation, { players: long ? 40_000 : 8_000, everywhere: true }),
      );
    } finally {
      await installation.close();
    }
  }
};
export default fault;

/**
 * Sends a campaign that tries variants, and kills the service in the test and when the winner has just been chosen;
 * `everywhere` also between the test and its winner, and in the rest.
 */
export async function killedTest(
  installation: Installation,
  { players, everywhere }: { players: number; everywhere: boolean },
): Promise<Outcome> {
  await installation.service();
  const scenario = await openScenario(installation.url());
  const { sql, id: propertyId } = scenario;
  const startedAt = performance.now();
  try {
    const allowed = await scenario.crowd(players);
    await scenario.endpoint("http://127.0.0.1:9/", { asleep: true });
    const id = await scenario.campaign({ ab_test: TEST });
    const body = { campaignId: id, propertyId };
    await must(await installation.service(), scenario.key, "POST", "/api/functions/send-campaign", { body });

    await reach("a part of the test", async () => (await sentOf(scenario, id)) > allowed.length / 10);
    await installation.kill();
    const tried = await variantsOf(scenario, id);
    const inTest = await sentOf(scenario, id);

    await installation.service();
    await reach("the whole test", async () => (await sentOf(scenario, id)) === tried.size);
    if (everywhere) await installation.kill();
    await endTest(scenario, id);

    await installation.service();
    await reach("the winner", async () => (await resultOf(scenario, id)) !== null);
    await installation.kill();
    const chosen = await resultOf(scenario, id);

    await installation.service();
    const most = tried.size + (allowed.length - tried.size) / 3;
    if (everywhere) {
      await reach("a part of the rest", async () => (await sentOf(scenario, id)) > most);
      await installation.kill();
    }
    const inRest = (await sentOf(scenario, id)) - tried.size;

    await installation.service();
    await reach("the campaign's end", async () => (await statusOf(scenario, id)) !== "sending");
    const stats = await statsOf(installation, scenario, id);
    const variants: { audience: number; sent: number }[] = Object.values(stats.by_variant);
    const sum = (what: "audience" | "sent") => variants.reduce((total, one) => total + one[what], 0);
    const given = await variantsOf(scenario, id);
    const mails = await mailsOf(scenario);
    const [told] = await sql<{ winners: number }[]>`
      select count(*)::int as winners from outbox
      where property_id = ${propertyId} and type = 'campaign.winner_selected'`;
    return {
      about: `cut at ${inTest} of ${tried.size} in the test and at ${inRest} of ${allowed.length - tried.size} in the rest, done after ${seconds(performance.now() - startedAt)}`,
      ledger: {
        lost: allowed.filter((address) => !mails.has(address)).length,
        doubled: repeats([...mails.values()].flat().map(({ recipient }) => recipient)),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        ...statsProblems(stats, { players, allowed: allowed.length }),
        "the test was over before it was killed": inTest >= tried.size,
        "the rest was over before it was killed": inRest >= allowed.length - tried.size,
        [`the variants have ${sum("audience")} recipients and sent ${sum("sent")}, of ${allowed.length}`]:
          sum("audience") !== allowed.length || sum("sent") !== allowed.length,
        "somebody's variant was drawn anew": [...tried].some(
          ([send, variant]) => given.get(send) !== variant,
        ),
        "the rest did not get the winner": [...given].some(
          ([send, variant]) => !tried.has(send) && variant !== WINNER,
        ),
        "a mail is not the variant's of its send": [...mails.values()]
          .flat()
          .some(({ send, subject }) => subject !== `Offer ${given.get(send)}`),
        [`${told!.winners} winners were announced`]: told!.winners !== 1,
        "another winner was chosen": JSON.stringify(await resultOf(scenario, id)) !== JSON.stringify(chosen),
      }),
    };
  } finally {
    await scenario.close();
  }
}

const reach = (what: string, condition: () => Promise<boolean>) => until(what, PATIENCE, condition, COUNTING);

/** The time of the test is over, and some have opened what the winner says. */
async function endTest({ sql, id: propertyId }: Scenario, id: string): Promise<void> {
  await sql`
    update campaign_sends set first_human_open_at = now()
    where property_id = ${propertyId} and campaign_id = ${id} and variant_id = ${WINNER} and status = 'sent'`;
  await sql`update campaigns set ab_ends_at = now() where property_id = ${propertyId} and id = ${id}`;
  await sql`update queue set run_at = now() where property_id = ${propertyId} and run_at > now()`;
}

/** The variants of those who have one, by their sends. */
async function variantsOf({ sql, id: propertyId }: Scenario, id: string): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; variant_id: string }[]>`
    select id, variant_id from campaign_sends
    where property_id = ${propertyId} and campaign_id = ${id} and variant_id is not null`;
  return new Map(rows.map((row) => [row.id, row.variant_id]));
}

async function resultOf({ sql, id: propertyId }: Scenario, id: string): Promise<unknown> {
  const [row] = await sql<{ ab_result: unknown }[]>`
    select ab_result from campaigns where property_id = ${propertyId} and id = ${id}`;
  return row!.ab_result;
}

async function mailsOf({ sql, id: propertyId }: Scenario) {
  const rows = await sql<{ send: string; recipient: string; subject: string }[]>`
    select id as send, recipient, subject from mailbox_messages where property_id = ${propertyId}`;
  return Map.groupBy(rows, ({ recipient }) => recipient);
}
