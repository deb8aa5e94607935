import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "#db/sql.ts";
import { enroll } from "#tools/enrollments/enroll.ts";
import { Definition } from "#tools/journeys/definition/definition.ts";
import { inOrder } from "#tools/journeys/definition/graph.ts";
import { step } from "#tools/journeys/steps/step.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type MessageOutcome, type Person, walk } from "./oracle.ts";
import { pick, type Random, type RandomDraft, randomBy, randomDraft, randomLimits } from "./random.ts";
import { town } from "./town.ts";

const TOWNS = isFull ? 50 : 3;
const JOURNEYS = isFull ? 20 : 2;
const PLAYERS = isFull ? 100 : 20;
const TICKS = isFull ? 50 : 36;
const MINUTE = 60_000;
/** The day itself, and days before the clocks of America and Europe change. */
const STARTS = [null, "2027-03-13T05:00:00Z", "2027-10-30T20:00:00Z", "2027-11-06T03:00:00Z"];

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

type Town = Awaited<ReturnType<typeof town>>;

const UNITS: Record<string, number> = { minutes: MINUTE, hours: 60 * MINUTE, days: 24 * 60 * MINUTE };

/** Times to step at, from the start on: minutes to hours apart, and a minute before some of the draft's waits end. */
function ticksFrom(random: Random, start: number, draft: RandomDraft): number[] {
  const written = JSON.stringify(draft).matchAll(/"amount":(\d+),"unit":"(\w+)"/g);
  const waits = Array.from(written, ([, amount, unit]) => Number(amount) * UNITS[unit!]!);
  const ticks = [start];
  while (ticks.length < TICKS) {
    const last = ticks.at(-1)!;
    const before = waits.map((wait) => pick(random, ticks) + wait - MINUTE).filter((at) => at > last);
    const minutes = random() < 0.7 ? 10 + random() * 120 : 120 + random() * 600;
    const isBefore = before.length > 0 && random() < 0.4;
    ticks.push(isBefore ? Math.min(...before) : last + Math.round(minutes) * MINUTE);
  }
  return ticks;
}

/** Players as the database has them, and events that they cause during these ticks. */
async function peopleOf(
  { scenario }: Town,
  random: Random,
  [first, last]: [number, number],
): Promise<Person[]> {
  const rows = await scenario.query(
    (transaction) => transaction<(Omit<Person, "enrollment"> & { zone: string | null })[]>`
      select id, timezone as zone, tier, tags, custom, coalesce((
          select json_agg(json_build_object('name', v.name, 'at', extract(epoch from v.occurred_at) * 1000,
            'amount', (v.properties ->> 'amount')::int))
          from player_events v where v.property_id = ${scenario.id} and v.player_id = p.id), '[]') as events
      from players p where property_id = ${scenario.id} and status = 'active' order by player_id`,
  );
  const people = rows.map((row) => ({ ...row, zone: row.zone ?? "America/New_York", enrollment: "" }));
  const added = people.flatMap((person) =>
    Array.from({ length: Math.floor(random() * 4) }, () => {
      const at = Math.round(first + random() * (last - first));
      const event = { name: random() < 0.5 ? "visit" : "deposit", at, amount: Math.floor(random() * 100) };
      person.events.push(event);
      return { id: person.id, ...event, at: new Date(at).toISOString() };
    }),
  );
  await scenario.query(
    (transaction) => transaction`
      insert into player_events (property_id, player_id, name, occurred_at, properties)
      select ${scenario.id}, id, name, at, jsonb_build_object('amount', amount)
      from jsonb_to_recordset(${added}::jsonb) e(id uuid, name text, at timestamptz, amount int) returning 1`,
  );
  return people;
}

/** Steps the journey at each tick. Between two, some messages get an outcome. Answers when each got it. */
async function drive({ clock, scenario }: Town, journeyId: string, ticks: number[], random: Random) {
  const outcomes = new Map<string, MessageOutcome>();
  const settled = async (at: number) => {
    const rows = await scenario.query(
      (transaction) => transaction<{ key: string; status: string }[]>`
        select s.enrollment_id || '/' || n.node || '/' || row_number() over (partition by s.enrollment_id, n.node order by s.id) as key,
          s.status
        from journey_nodes n join campaign_sends s on s.property_id = ${scenario.id} and s.campaign_id = n.campaign_id
        where n.property_id = ${scenario.id} and n.journey_id = ${journeyId}`,
    );
    for (const { key, status } of rows) {
      // A message that a step has taken back has no outcome: the walk must find by itself that its player leaves.
      if (["pending", "deferred", "cancelled"].includes(status) || outcomes.has(key)) continue;
      outcomes.set(key, { at, label: status === "sent" ? "sent" : "not_sent" });
    }
  };
  for (const at of ticks) {
    const time = new Date(at).toISOString();
    await clock.work(async (context) => {
      while ((await step(context, journeyId, time)) > 0) {}
    });
    await settled(at);
    const next = ticks[ticks.indexOf(at) + 1];
    if (next === undefined) break;
    const share = 0.3 + random() * 0.7;
    await scenario.query(async (transaction) => {
      const waiting = await transaction<{ id: string }[]>`
        select s.id from campaign_sends s
        join campaigns c on c.property_id = ${scenario.id} and c.id = s.campaign_id
        where s.property_id = ${scenario.id} and c.journey_id = ${journeyId} and s.status in ('pending', 'deferred')
        order by s.id`;
      const given = waiting.flatMap(({ id }) => {
        if (random() >= share) return [];
        return { id, status: random() < 0.8 ? "sent" : "failed" };
      });
      await transaction`
        update campaign_sends s set status = o.status
        from jsonb_to_recordset(${given}::jsonb) o(id uuid, status text)
        where s.property_id = ${scenario.id} and s.id = o.id`;
    });
    await settled(next);
  }
  return outcomes;
}

async function actual({ scenario }: Town, journeyId: string) {
  return scenario.query(
    (transaction) => transaction`
      select player_id as id, status, exit_reason as reason, node, path,
        array(select (extract(epoch from t) * 1000)::double precision from unnest(path_at) t) as times,
        goal_reached_at is not null as goal
      from journey_enrollments where property_id = ${scenario.id} and journey_id = ${journeyId} order by player_id`,
  );
}

async function checkFigures({ clock }: Town, journeyId: string): Promise<void> {
  const { figures, nodes } = await clock.report(journeyId);
  const { entered, inside, completed, exited, failed } = figures;
  expect(entered).toBe(inside + completed + exited + failed);
  for (const node of nodes) expect({ ...node, entered: node.left + node.here }).toEqual(node);
  expect(await clock.verify(journeyId)).toMatchObject({ ok: true, differences: [] });
}

async function enter(place: Town, journeyId: string, people: Person[], at: string): Promise<void> {
  const { clock, scenario } = place;
  await clock.work((context) =>
    enroll(
      context,
      sql`
        select ${journeyId}::uuid as journey_id, 1 as version, 'in' as node, '{"mode": "never"}'::jsonb as reentry,
          w.id as player_id, '' as entry_key, '{}'::jsonb as context
        from unnest(${people.map(({ id }) => id)}::uuid[]) w(id)`,
      at,
    ),
  );
  const rows = await scenario.query(
    (transaction) => transaction<{ id: string; player: string }[]>`
      select id, player_id as player from journey_enrollments
      where property_id = ${scenario.id} and journey_id = ${journeyId}`,
  );
  for (const person of people) person.enrollment = rows.find(({ player }) => player === person.id)!.id;
}

function orderOf(draft: RandomDraft): string[] {
  return inOrder(Definition.parse(draft)).map(({ id }) => id);
}

test.each(Array.from({ length: TOWNS }, (_, index) => index + 1))(
  "people go where a walk through the journey by hand leads them (town %i)",
  async (seed) => {
    const random = randomBy(1_000 + seed);
    const place = await town(service, random, PLAYERS);
    const { scenario, segmentId } = place;
    for (let turn = 0; turn < JOURNEYS; turn += 1) {
      const draft = randomDraft(random, { segmentId, size: 3 + Math.floor(random() * 14) });
      const start = STARTS[(seed + 2 * turn) % STARTS.length] ?? new Date(Date.now() + MINUTE).toISOString();
      const ticks = ticksFrom(random, Date.parse(start), draft);
      const people = await peopleOf(place, random, [ticks[0]!, ticks.at(-1)!]);
      const limits = randomLimits(random);
      const { id } = await scenario.call("create_journey", {
        ...{ name: `J${turn}`, draft_definition: draft },
        ...limits,
      });
      await scenario.call("publish_journey", { propertyId: scenario.id, journeyId: id });
      await enter(place, id, people, new Date(ticks[0]!).toISOString());
      const outcomes = await drive(place, id, ticks, random);
      const expected = walk(draft, people, {
        journeyId: id,
        order: orderOf(draft),
        ticks,
        limits,
        outcomeOf: (enrollment, node, visit) => outcomes.get(`${enrollment}/${node}/${visit}`) ?? null,
      });
      const found = await actual(place, id);
      const sorted = expected.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const journey = { seed, turn, draft, limits };
      expect({ ...journey, people: found }).toEqual({ ...journey, people: sorted });
      await checkFigures(place, id);
    }
  },
  // A town lives through weeks, step by step, which takes a busy machine ten times as long as an idle one.
  isFull ? 1_800_000 : 180_000,
);
