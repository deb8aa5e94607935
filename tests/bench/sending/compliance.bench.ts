import { connect, type Sql } from "#db/database.ts";
import { type GateOptions, gateReasons } from "#tools/compliance/gate.ts";
import { median, type Report } from "../support/figure.ts";
import { ROUNDS } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const RECIPIENTS = 100_000;
const SAMPLE = 2_000;

/** Seconds for all recipients. */
interface Round {
  set: number;
  each: number;
  join: number;
}

/** S12: why each of 100,000 recipients may not be sent to, in one statement against one query each. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(2 * RECIPIENTS);
  const segment = await everySecondPlayer(bench);
  await fillLists(bench);
  const db = connect(bench.url, { size: 1 });
  try {
    const rounds = await db.asProperty(bench.property, (sql) => measure(sql, bench.property, segment), {
      readOnly: true,
      deadline: Number.POSITIVE_INFINITY,
    });
    const figure = (
      name: string,
      peer: "each" | "join",
      goal: string,
      ratioOf: (round: Round) => number,
    ) => ({
      name,
      ours: median(rounds.map(({ set }) => set)),
      peer: median(rounds.map((round) => round[peer])),
      ratio: median(rounds.map(ratioOf)),
      goal,
    });
    const each = figure(
      "S12 compliance of 100,000, s / one query each",
      "each",
      "≥ 50x",
      (r) => r.each / r.set,
    );
    report({ ...each, met: each.ratio >= 50 });
    const join = figure("S12 compliance of 100,000, s / bare join", "join", "≤ 4x", (r) => r.set / r.join);
    report({ ...join, met: join.ratio <= 4 });
  } finally {
    await db.close();
    await bench.close();
  }
}

async function measure(sql: Sql, property: string, segment: string): Promise<Round[]> {
  const gate: GateOptions = {
    property: { id: property, timezone: "America/New_York", min_age: 21, email_consent_mode: "opt_in" },
    channel: "email",
  };
  const sample = await sql<{ id: string }[]>`
    select player_id as id from segment_members where property_id = ${property} and segment_id = ${segment}
    order by player_id limit ${SAMPLE}`;
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    // Materialized, as a campaign is planned: in an aggregate's argument the planner takes the gate for one call.
    const set = await timed(
      () => sql<{ n: number; blocked: number }[]>`
        with judged as materialized (
          select p.id, ${gateReasons(gate)} as reasons
          from segment_members m join players p on p.property_id = m.property_id and p.id = m.player_id
          where m.property_id = ${property} and m.segment_id = ${segment})
        select count(*)::int as n, count(*) filter (where reasons <> '{}')::int as blocked from judged`,
    );
    const { n, blocked } = set.value[0]!;
    if (n !== RECIPIENTS || blocked === 0 || blocked === n) {
      throw new Error(`the control moved: ${blocked} of ${n} blocked`);
    }
    const join = await timed(
      () => sql`
        with joined as materialized (
          select p.id, p.status
          from segment_members m join players p on p.property_id = m.property_id and p.id = m.player_id
          where m.property_id = ${property} and m.segment_id = ${segment})
        select count(*), count(*) filter (where status <> 'active') from joined`,
    );
    const each = await timed(async () => {
      for (const { id } of sample) {
        await sql`select ${gateReasons(gate)} as reasons from players p
          where p.property_id = ${property} and p.id = ${id}`;
      }
    });
    const all = (each.seconds / SAMPLE) * RECIPIENTS;
    if (round > 0) rounds.push({ set: set.seconds, join: join.seconds, each: all });
  }
  return rounds;
}

async function timed<T>(work: () => PromiseLike<T>): Promise<{ value: T; seconds: number }> {
  const startedAt = performance.now();
  const value = await work();
  return { value, seconds: (performance.now() - startedAt) / 1000 };
}

async function everySecondPlayer({ sql, property }: BenchProperty): Promise<string> {
  const [segment] = await sql<{ id: string }[]>`
    insert into segments (property_id, name, type) values (${property}, 'Everyone', 'static') returning id`;
  await sql`
    insert into segment_members (property_id, segment_id, player_id)
    select property_id, ${segment!.id}, id from players where substr(player_id, 3)::int % 2 = 0`;
  return segment!.id;
}

/** Lists as a property has them: one player of 20 is suppressed, one of 100 excluded, one phone of 50 listed. */
async function fillLists({ sql, property }: BenchProperty): Promise<void> {
  await sql`
    insert into suppressions (property_id, channel, address_hash, reason, player_id)
    select ${property}, 'email', email_hash, 'unsubscribed', id
    from players where substr(player_id, 3)::int % 20 = 0`;
  await sql`
    insert into suppressions (property_id, channel, address_hash, reason)
    select ${property}, 'all', email_hash, 'self_excluded'
    from players where substr(player_id, 3)::int % 100 = 2`;
  await sql`
    insert into self_exclusions (property_id, player_id)
    select ${property}, id from players where substr(player_id, 3)::int % 100 = 2`;
  await sql`
    insert into dnc_entries (property_id, phone_hash)
    select ${property}, phone_hash from players where substr(player_id, 3)::int % 50 = 4`;
  await sql`vacuum analyze players, segment_members, suppressions, self_exclusions, dnc_entries`;
}
