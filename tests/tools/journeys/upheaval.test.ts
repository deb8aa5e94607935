import { afterAll, beforeAll, expect, test } from "vitest";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";
import { pick, type Random, randomBy } from "./random.ts";

const SEEDS = isFull ? 25 : 2;
const STEPS = isFull ? 120 : 45;
const PLAYERS = 12;

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

/** A person as the rules see them, without the database. */
interface Person {
  id: string;
  email: string;
  /** They may enter no journey any more. */
  barred: boolean;
  /** Erased, or merged into another one: no call may name them. */
  gone: boolean;
  /** Messages that they had when they were to get no more; null before that. */
  had: number | null;
}

/** An entry into the journey, with the nodes whose messages have left, once for each message. */
interface Entry {
  id: string;
  player: string;
  isActive: boolean;
  from: number;
  until: number;
  left: string[];
}

/**
 * Whether an entry ends where another record's entries become those of its person: one person is inside once, and gets no
 * message again that another entry has sent meanwhile.
 */
function isSecond(entry: Entry, entries: readonly Entry[]): boolean {
  const times = ({ left }: Entry, node: string) => left.filter((one) => one === node).length;
  const order = (one: Entry, other: Entry) => one.from - other.from || (one.id < other.id ? -1 : 1);
  const lacks = (one: Entry, other: Entry) =>
    other.left.some((node) => times(one, node) < times(other, node));
  return entries
    .filter(({ player, until }) => player !== entry.player && until > entry.from)
    .some(
      (other) => lacks(entry, other) || (order(other, entry) < 0 && !(other.isActive && lacks(other, entry))),
    );
}

const delay = (id: string, amount: number) => ({
  id,
  type: "delay",
  config: { by: "duration", duration: { amount, unit: "minutes" } },
});
const message = (id: string) => ({
  id,
  type: "message",
  config: { channel: "email", subject: id, body_html: "<p>Hi</p>" },
});
const wait = {
  id: "wait",
  type: "wait_until",
  config: { event: { name: "visit" }, timeout: { amount: 3, unit: "hours" } },
};
const end = { id: "end", type: "exit", config: {} };

/** Drafts that share some nodes, so that an edit keeps some people and loses others. */
const DRAFTS = [
  chain([delay("rest", 30), message("one"), wait, message("two"), end]),
  chain([delay("rest", 90), message("one"), delay("more", 60), message("three"), end]),
  chain([message("zero"), delay("rest", 10), wait, message("two"), end]),
];

/** The people of one journey, and all that is done to them and it by chance. */
async function upheaval(clock: JourneyClock, random: Random) {
  const { scenario } = clock;
  const about = { propertyId: scenario.id };
  const people: Person[] = [];
  for (let n = 0; n < PLAYERS; n += 1) {
    const email = `u${n}@example.com`;
    people.push({
      id: await scenario.player({ player_id: `U${n}`, email }),
      email,
      barred: false,
      gone: false,
      had: null,
    });
  }
  const journeyId = await clock.published(DRAFTS[0]!, { reentry: { mode: "always" } });
  const journey = { journeyId, ...about };
  let entered = 0;
  let isPaused = false;

  const mails = async (email: string) =>
    (await scenario.mailbox()).filter(({ recipient }) => recipient === email);
  const silence = async (person: Person, { barred }: { barred: boolean }) => {
    person.barred ||= barred;
    person.had ??= (await mails(person.email)).length;
  };
  const inside = async () =>
    new Set(
      (
        await scenario.query(
          (sql) => sql<{ id: string }[]>`
            select player_id as id from journey_enrollments
            where property_id = ${scenario.id} and journey_id = ${journeyId} and status = 'active'`,
        )
      ).map(({ id }) => id),
    );
  const pastOf = (player: string) =>
    scenario.query(
      (sql) => sql<Entry[]>`
        select e.id, e.player_id as player, e.status = 'active' as "isActive", (extract(epoch from e.entered_at) * 1e6)::float8 as "from",
          (extract(epoch from coalesce(e.ended_at, 'infinity')) * 1e6)::float8 as until,
          array(select s.node_id from campaign_sends s
            where s.property_id = ${scenario.id} and s.enrollment_id = e.id
              and s.status in ('sending', 'unknown', 'sent', 'delivered')) as left
        from journey_enrollments e
        where e.property_id = ${scenario.id} and e.journey_id = ${journeyId} and e.player_id = ${player}`,
    );
  const free = () => people.filter(({ barred }) => !barred);
  const acts: Record<string, () => Promise<void>> = {
    async enroll() {
      const before = await inside();
      const chosen = people.filter(({ gone }) => !gone && random() < 0.5);
      if (chosen.length === 0 || isPaused) return;
      const expected = chosen.filter(({ id, barred }) => !barred && !before.has(id)).length;
      const answer = await clock.enroll(
        journeyId,
        chosen.map(({ id }) => id),
      );
      expect(answer.entered).toBe(expected);
      entered += expected;
    },
    async pass() {
      if (!isPaused) await clock.pass(pick(random, [5, 30, 60, 200]), journeyId);
    },
    async deliver() {
      const before = (await scenario.mailbox()).length;
      await clock.deliver();
      if (isPaused) expect(await scenario.mailbox()).toHaveLength(before);
    },
    async visit() {
      const person = pick(random, people);
      if (!person.barred) await clock.happens(person.id, "visit");
    },
    async pause() {
      if (isPaused) return;
      await scenario.call("pause_journey", journey);
      isPaused = true;
    },
    async resume() {
      if (!isPaused) return;
      await scenario.call("resume_journey", { ...journey, shift: random() < 0.5 });
      isPaused = false;
    },
    async republish() {
      const onPublish = pick(random, ["finish_old", "move_matching_nodes", "exit_old"]);
      const count = (await inside()).size;
      const answer = await clock.republish(journeyId, pick(random, DRAFTS), { onPublish });
      const { finish, move, exit } = answer.inside;
      expect(finish + move + exit).toBe(count);
      expect((await inside()).size).toBe(count - exit);
    },
    async exclude() {
      const [person] = free();
      if (!person || random() < 0.3) return;
      const { id: playerId } = person;
      const [operation, input] = pick(random, [
        ["create_self_exclusion", { player_id: playerId }],
        ["consent_revoke", { ...about, playerId, channel: "email" }],
        ["set_player_status", { ...about, playerId, status: "banned" }],
        ["data_deletion", { ...about, playerId }],
      ] as const);
      await scenario.call(operation, input);
      person.gone = operation === "data_deletion";
      await silence(person, { barred: operation !== "consent_revoke" });
      expect((await inside()).has(playerId)).toBe(false);
    },
    async merge() {
      const [kept, other] = free().toReversed();
      if (!kept || !other || random() < 0.3) return;
      // The kept one's refusals end the other's entries first.
      const others = (await pastOf(other.id)).map((entry) => ({
        ...entry,
        isActive: entry.isActive && kept.had === null,
      }));
      const entries = [...(await pastOf(kept.id)), ...others];
      await scenario.call("merge_players", { ...about, playerId: kept.id, duplicateId: other.id });
      const goesOn = entries.some((entry) => entry.isActive && !isSecond(entry, entries));
      // A refusal of either is the kept one's, and ends the journey.
      const refuses = other.had !== null && kept.had === null;
      if (refuses) await silence(kept, { barred: false });
      await silence(other, { barred: true });
      other.gone = true;
      expect((await inside()).has(kept.id)).toBe(goesOn && !refuses);
    },
    async exitPlayers() {
      const before = await inside();
      const [id] = before;
      if (!id || random() < 0.5) return;
      await scenario.call("exit_players", { ...journey, playerIds: [id] });
      expect((await inside()).size).toBe(before.size - 1);
    },
  };

  async function check() {
    const { all_versions: figures } = await clock.report(journeyId);
    expect(figures.entered).toBe(entered);
    expect(figures.entered).toBe(figures.inside + figures.completed + figures.exited + figures.failed);
    expect(await clock.verify(journeyId)).toMatchObject({ ok: true, differences: [] });
    const entries = await scenario.query(
      (sql) => sql<{ node: string; status: string; nodes: { id: string }[]; player: string }[]>`
        select e.node, e.status, v.definition -> 'nodes' as nodes, e.player_id as player from journey_enrollments e
          join journey_versions v on v.property_id = ${scenario.id} and v.journey_id = e.journey_id and v.version = e.version
        where e.property_id = ${scenario.id} and e.journey_id = ${journeyId}`,
    );
    for (const { node, status, nodes } of entries) {
      if (status === "active") expect(nodes.map(({ id }) => id)).toContain(node);
    }
    const doubled = await scenario.query(
      (sql) => sql`
        select e.path, c.journey_node from journey_enrollments e
          join campaign_sends s on s.property_id = ${scenario.id} and s.enrollment_id = e.id
          join campaigns c on c.property_id = ${scenario.id} and c.id = s.campaign_id
        where e.property_id = ${scenario.id} and s.status in ('sent', 'delivered')
        group by e.id, e.path, c.journey_node
        having count(*) > cardinality(array_positions(e.path, c.journey_node))`,
    );
    expect(doubled).toHaveLength(0);
    const sent = await scenario.mailbox();
    for (const { email, had } of people) {
      if (had !== null)
        expect(sent.filter(({ recipient }) => recipient === email).length).toBeLessThanOrEqual(had);
    }
  }
  return { acts, check };
}

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  "figures, places and messages stay right after all that can be done to a journey and its people (%i)",
  async (seed) => {
    const random = randomBy(9_000 + seed);
    const { acts, check } = await upheaval(await journeyClock(service), random);
    const done: string[] = [];
    for (let turn = 0; turn < STEPS; turn += 1) {
      const name = pick(random, ["enroll", "pass", "pass", "deliver", ...Object.keys(acts)]);
      done.push(name);
      try {
        await acts[name]!();
        await check();
      } catch (error) {
        throw new Error(`after ${done.join(", ")}`, { cause: error });
      }
    }
  },
  isFull ? 600_000 : 120_000,
);
