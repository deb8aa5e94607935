import { type Fragment, sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { NodeOf } from "#tools/journeys/definition/definition.ts";
import { type Moment, NEXT } from "#tools/journeys/nodes/node.ts";
import { BATCH, type Moved, move, NOBODY } from "./move.ts";
import { allowed, type Book, type Limit, type Look, nextAt, noted, putBack } from "./pace.ts";
import type { Version } from "./version.ts";

const SECOND = 1_000_000;

/** A rate limit with its book, and the line before it. */
interface Line {
  node: string;
  limit: Limit;
  book: Book;
  look: Look;
}

/** The people in a line, as SQL over `l`: those of all versions, in the order of their coming. */
const inLine = (property: string, journeyId: string, node: Fragment) => sql`
  l.property_id = ${property}::uuid and l.journey_id = ${journeyId}::uuid and l.node = ${node} and l.status = 'active'
    and l.phase = 'in_line'`;
const byArrival = sql`l.arrived_at, l.player_id, l.id`;

/**
 * Lets people of a version through a rate limit, those who are first in the line of all versions. The row of the limit
 * is locked: two workers let through no more than one.
 */
export async function passLine(
  context: Context,
  moment: Moment,
  { version, node }: { version: Version; node: NodeOf<"rate_limit"> },
): Promise<Moved> {
  const { property } = context;
  const own = sql`node = ${node.id} for no key update`;
  const [line] = await linesOf(context, { ...moment, journeyId: version.journeyId }, own);
  if (!line) return NOBODY;
  const { limit, look } = line;
  const book = putBack(line.book, limit, look.now);
  const most = Math.min(allowed(book, limit, look), BATCH);
  const moved =
    most === 0
      ? NOBODY
      : await move(context, moment, {
          version,
          node,
          phase: "in_line",
          due: sql`d.id = any(array(
            select l.id from journey_enrollments l
            where ${inLine(property.id, version.journeyId, sql`${node.id}::text`)}
            order by ${byArrival} limit ${most}::int))`,
          next: sql`${NEXT}::text`,
        });
  const people = moved.passed.length;
  if (people > 0) await keepBook(context, version, node.id, noted(book, limit, look, people));
  else if (book !== line.book) await keepBook(context, version, node.id, book);
  return moved;
}

/** Seconds until somebody of the journey passes a rate limit; null where nobody stands in line. */
export async function secondsToPass(context: Tenant, moment: LineMoment): Promise<number | null> {
  const lines = await linesOf(context, moment, sql`true`);
  const waits = lines.map(({ limit, book, look }) => (nextAt(book, limit, look) - look.now) / SECOND);
  return waits.length === 0 ? null : Math.min(...waits);
}

/**
 * The place of a person in the line at a rate limit, 1 for the first, and the earliest time of passing; null for a person
 * who stands there no more.
 */
export async function placeInLine(
  context: Tenant,
  {
    journey_id: journeyId,
    current_node_id: node,
    id,
  }: { journey_id: string; current_node_id: string; id: string },
): Promise<{ place: number; at: string } | null> {
  const { sql: transaction, property } = context;
  const [line] = await linesOf(context, { journeyId }, sql`node = ${node}`);
  const standing = inLine(property.id, journeyId, sql`${node}::text`);
  const [{ place }] = await transaction<[{ place: number }]>`
    select count(*)::int as place from journey_enrollments l, (
      select ${byArrival} from journey_enrollments l where ${standing} and l.id = ${id}
    ) own
    where ${standing} and (${byArrival}) <= (own.arrived_at, own.player_id, own.id)`;
  if (!line || place === 0) return null;
  const { limit, book, look } = line;
  const first = nextAt(book, limit, look);
  const at = first + ((place - 1) * limit.period) / limit.most;
  return { place, at: new Date(Math.ceil(at / 1_000)).toISOString() };
}

type LineMoment = Pick<Moment, "journeyId"> & Partial<Pick<Moment, "now" | "tick">>;

/** The rate limits of a journey, `which` by SQL over their rows, before which somebody stands. */
async function linesOf(
  { sql: transaction, property }: Tenant,
  { journeyId, now = sql`now()`, tick = 0 }: LineMoment,
  which: Fragment,
): Promise<Line[]> {
  const micros = (time: Fragment) => sql`(extract(epoch from ${time}) * ${SECOND}::int)::double precision`;
  const rows = await transaction<
    { node: string; most: number; seconds: number; book: Book; now: number; since: number | null }[]
  >`
    select node, most, seconds, book, ${micros(now)} as now, ${micros(sql`(
        select l.arrived_at from journey_enrollments l
        where ${inLine(property.id, journeyId, sql`journey_limits.node`)}
        order by ${byArrival} limit 1)`)} as since
    from journey_limits
    where property_id = ${property.id} and journey_id = ${journeyId} and ${which}`;
  return rows.flatMap(({ node, most, seconds, book, since, now: at }) => {
    if (since === null) return [];
    const look = { now: at, since, tick: tick * SECOND };
    return { node, limit: { most, period: seconds * SECOND }, book, look };
  });
}

async function keepBook(
  { sql: transaction, property }: Tenant,
  { journeyId }: Version,
  node: string,
  book: Book,
): Promise<void> {
  await transaction`
    update journey_limits set book = ${book}::jsonb
    where property_id = ${property.id} and journey_id = ${journeyId} and node = ${node}`;
}
