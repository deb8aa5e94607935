import { must } from "./calls.ts";
import { sentOf, statsOf, statsProblems, statusOf } from "./campaign.fault.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "./fault.ts";
import { openEmbeddedPlace, type Place } from "./place.ts";
import { openWorld, type World } from "./world.ts";

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
    const place = await openEmbeddedPlace();
    try {
      report(
        "kill -9 four times in a campaign's test",
        await killedTest(place, { players: long ? 40_000 : 8_000 }),
      );
    } finally {
      await place.close();
    }
  }
};
export default fault;

/**
 * Sends a campaign that tries variants, and kills the service in the test, between the test and its winner, when the
 * winner has just been chosen, and in the rest.
 */
export async function killedTest(place: Place, { players }: { players: number }): Promise<Outcome> {
  await place.service();
  const world = await openWorld(place.url());
  const { sql, id: propertyId } = world;
  const startedAt = performance.now();
  try {
    const allowed = await world.crowd(players);
    await world.endpoint("http://127.0.0.1:9/", { asleep: true });
    const id = await world.campaign({ ab_test: TEST });
    const body = { campaignId: id, propertyId };
    await must(await place.service(), world.key, "POST", "/api/functions/send-campaign", { body });

    await until("a part of the test", PATIENCE, async () => (await sentOf(world, id)) > allowed.length / 10);
    await place.kill();
    const tried = await variantsOf(world, id);
    const inTest = await sentOf(world, id);

    await place.service();
    await until("the whole test", PATIENCE, async () => (await sentOf(world, id)) === tried.size);
    await place.kill();
    await endTest(world, id);

    await place.service();
    await until("the winner", PATIENCE, async () => (await resultOf(world, id)) !== null);
    await place.kill();
    const chosen = await resultOf(world, id);

    await place.service();
    const most = tried.size + (allowed.length - tried.size) / 3;
    await until("a part of the rest", PATIENCE, async () => (await sentOf(world, id)) > most);
    await place.kill();
    const inRest = (await sentOf(world, id)) - tried.size;

    await place.service();
    await until("the campaign's end", PATIENCE, async () => (await statusOf(world, id)) !== "sending");
    const stats = await statsOf(place, world, id);
    const variants: { audience: number; sent: number }[] = Object.values(stats.by_variant);
    const sum = (what: "audience" | "sent") => variants.reduce((total, one) => total + one[what], 0);
    const given = await variantsOf(world, id);
    const mails = await mailsOf(world);
    const [told] = await sql<{ winners: number }[]>`
      select count(*)::int as winners from outbox
      where property_id = ${propertyId} and type = 'campaign.winner_selected'`;
    return {
      about: `cut at ${inTest} of ${tried.size} in the test and at ${inRest} of ${allowed.length - tried.size} in the rest, done after ${seconds(performance.now() - startedAt)}`,
      ledger: {
        lost: allowed.filter((address) => !mails.has(address)).length,
        doubled: repeats([...mails.values()].flat().map(({ recipient }) => recipient)),
        foreign: await world.foreign(),
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
        "another winner was chosen": JSON.stringify(await resultOf(world, id)) !== JSON.stringify(chosen),
      }),
    };
  } finally {
    await world.close();
  }
}

/** The time of the test is over, and some have opened what the winner says. */
async function endTest({ sql, id: propertyId }: World, id: string): Promise<void> {
  await sql`
    update campaign_sends set first_human_open_at = now()
    where property_id = ${propertyId} and campaign_id = ${id} and variant_id = ${WINNER} and status = 'sent'`;
  await sql`update campaigns set ab_ends_at = now() where property_id = ${propertyId} and id = ${id}`;
  await sql`update queue set run_at = now() where property_id = ${propertyId} and run_at > now()`;
}

/** The variants of those who have one, by their sends. */
async function variantsOf({ sql, id: propertyId }: World, id: string): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; variant_id: string }[]>`
    select id, variant_id from campaign_sends
    where property_id = ${propertyId} and campaign_id = ${id} and variant_id is not null`;
  return new Map(rows.map((row) => [row.id, row.variant_id]));
}

async function resultOf({ sql, id: propertyId }: World, id: string): Promise<unknown> {
  const [row] = await sql<{ ab_result: unknown }[]>`
    select ab_result from campaigns where property_id = ${propertyId} and id = ${id}`;
  return row!.ab_result;
}

async function mailsOf({ sql, id: propertyId }: World) {
  const rows = await sql<{ send: string; recipient: string; subject: string }[]>`
    select id as send, recipient, subject from mailbox_messages where property_id = ${propertyId}`;
  return Map.groupBy(rows, ({ recipient }) => recipient);
}
