import { afterAll, beforeAll, expect, test } from "vitest";
import { raw, type Sql, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { enroll } from "#tools/enrollments/enroll.ts";
import { findJourney } from "#tools/journeys/journey/journey.ts";
import { drive } from "#tools/journeys/simulation/drive.ts";
import { simulate } from "#tools/journeys/simulation/simulate.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Random, randomBy, randomDraft } from "./random.ts";
import { town } from "./town.ts";

const TOWNS = isFull ? 100 : 3;
const JOURNEYS = isFull ? 10 : 1;
const PLAYERS = isFull ? 100 : 25;
const DAYS = 14;

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

/** The entries and messages of a journey, as a transaction sees them. */
async function rowsOf(transaction: Sql, propertyId: string, journeyId: string) {
  return {
    entries: await transaction`
      select p.player_id, e.status, e.exit_reason, e.node, e.visit, e.phase, e.path, e.path_at::text[] as times,
        e.wake_at::text as wake
      from journey_enrollments e join players p on p.property_id = ${propertyId} and p.id = e.player_id
      where e.property_id = ${propertyId} and e.journey_id = ${journeyId} order by p.player_id`,
    sends: await transaction`
      select n.node, p.player_id, s.status, s.skip_reasons, s.scheduled_for::text as due, s.sent_at::text as sent,
        s.created_at::text as planned
      from journey_nodes n
        join campaign_sends s on s.property_id = ${propertyId} and s.campaign_id = n.campaign_id
        join players p on p.property_id = ${propertyId} and p.id = s.player_id
      where n.property_id = ${propertyId} and n.journey_id = ${journeyId}
      order by n.node, s.created_at, p.player_id, s.status`,
    players: await transaction`
      select player_id, tier, tags, custom from players where property_id = ${propertyId} order by player_id`,
  };
}

type Rows = Awaited<ReturnType<typeof rowsOf>>;
type Town = Awaited<ReturnType<typeof town>>;

class RolledBack extends Error {}

/** The rows of a simulation before it is rolled back. */
async function simulatedRows(
  { clock, scenario, players }: Town,
  journeyId: string,
  from: string,
): Promise<Rows> {
  let rows: Rows | undefined;
  const work = async (context: Context) => {
    await simulate(context, {
      draft: await findJourney(context, journeyId),
      players: sql`select unnest(${players}::uuid[]) as id`,
      period: { from, days: DAYS, seed: "1" },
      assume: { by: "as_before", days: DAYS },
    });
    rows = await rowsOf(context.sql, scenario.id, journeyId);
    throw new RolledBack();
  };
  await expect(clock.work(work)).rejects.toThrow(RolledBack);
  return rows!;
}

/** The same people in the published journey, who do again what they did in the days before. */
async function realRows({ clock, scenario, players }: Town, journeyId: string, from: string): Promise<Rows> {
  await scenario.call("publish_journey", { propertyId: scenario.id, journeyId });
  return clock.work(async (context) => {
    const { draft_definition: definition } = await findJourney(context, journeyId);
    await enroll(
      context,
      sql`
        select ${journeyId}::uuid as journey_id, 1 as version, 'in' as node, '{"mode": "never"}'::jsonb as reentry,
          w.id as player_id, '' as entry_key, '{}'::jsonb as context
        from unnest(${players}::uuid[]) w(id)`,
      from,
    );
    const [version] = await context.sql`
      select referred from journey_versions where property_id = ${scenario.id} and journey_id = ${journeyId}`;
    const until = Date.parse(from) + DAYS * 86_400_000;
    const run = { journeyId, definition, referred: version!.referred, from: Date.parse(from), until };
    await drive(context, { ...run, events: raw("player_events") });
    return rowsOf(context.sql, scenario.id, journeyId);
  });
}

/** A town with this seed, whose people walk through each draft twice: in a simulation, and really. */
async function isSame(seed: number, drafts: (random: Random, segmentId: string) => Iterable<object>) {
  const random = randomBy(seed);
  const place = await town(service, random, PLAYERS);
  const { scenario, segmentId } = place;
  const from = new Date(Date.now() + 60_000).toISOString();
  // The events that the players will repeat. Simulations see the copies in time, so they must not be there yet.
  const again = sql`
    select v.property_id, v.player_id, v.name, v.occurred_at + make_interval(days => ${DAYS}::int) as at, v.properties
    from player_events v where v.property_id = ${scenario.id} and v.source is null
      and v.occurred_at >= ${from}::timestamptz - make_interval(days => ${DAYS}::int)`;
  for (const draft_definition of drafts(random, segmentId)) {
    const { id } = await scenario.call("create_journey", { name: "J", draft_definition });
    const simulated = await simulatedRows(place, id, from);
    await scenario.query(
      (transaction) => transaction`
        insert into player_events (property_id, player_id, name, occurred_at, properties, source)
        select property_id, player_id, name, at, properties, 'again' from (${again}) a returning 1`,
    );
    const real = await realRows(place, id, from);
    await scenario.query(
      (transaction) => transaction`
        delete from player_events where property_id = ${scenario.id} and source = 'again' returning 1`,
    );
    expect({ seed, draft_definition, ...simulated }).toEqual({ seed, draft_definition, ...real });
    expect(real.entries.length).toBeGreaterThan(PLAYERS / 2);
  }
}

/** People wait for one event after the other, and leave by how often they have visited: each event counts. */
const WAITING = {
  nodes: [
    { id: "in", type: "trigger", config: { on: "api" } },
    {
      id: "visit",
      type: "wait_until",
      config: {
        event: { name: "visit", properties: [{ property: "amount", operator: "gte", value: 30 }] },
        timeout: { amount: 20, unit: "days" },
      },
    },
    { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 30, unit: "minutes" } } },
    {
      id: "deposit",
      type: "wait_until",
      config: {
        event: { name: "deposit", properties: [] },
        timeout: { amount: 3, unit: "days" },
      },
    },
    {
      id: "often",
      type: "branch",
      config: {
        branches: [
          {
            label: "often",
            conditions: [
              { field: "event.visit.count", operator: "is", value: { op: "gte", n: 2, within_days: 5 } },
            ],
          },
        ],
      },
    },
    { id: "won", type: "goal", config: {} },
    { id: "end", type: "exit", config: {} },
  ],
  edges: [
    { from: "in", to: "visit" },
    { from: "visit", label: "yes", to: "rest" },
    { from: "visit", label: "timed_out", to: "often" },
    { from: "rest", to: "deposit" },
    { from: "deposit", label: "yes", to: "often" },
    { from: "deposit", label: "timed_out", to: "often" },
    { from: "often", label: "often", to: "won" },
    { from: "often", label: "otherwise", to: "end" },
  ],
};

test("a simulation of people who wait for events is the same as the real run, row for row", async () => {
  await isSame(1, () => [WAITING]);
});

test.each(Array.from({ length: TOWNS }, (_, index) => index + 1))(
  "a simulation is the same as the real run, row for row (town %i)",
  (seed) =>
    isSame(seed, function* (random, segmentId) {
      for (let turn = 0; turn < JOURNEYS; turn += 1) {
        yield randomDraft(random, { segmentId, size: 3 + Math.floor(random() * 12) });
      }
    }),
  // A town lives through weeks, step by step, which takes a busy machine ten times as long as an idle one.
  isFull ? 1_800_000 : 180_000,
);
