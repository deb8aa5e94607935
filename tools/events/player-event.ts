import { randomUUIDv7 } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { identifier, raw } from "#db/sql.ts";
import { isUuid } from "#db/text.ts";
import { Fault, type FaultDetail } from "#runtime/faults.ts";
import { columnNames } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { NewOf, RowOf } from "#runtime/operation/table.ts";
import { enrollByEvents } from "#tools/enrollments/enroll.ts";
import playerEvents from "./player-events.table.ts";

/** An event as callers report it: `player_id` is the player's id, or the operator's own. */
type NewEvent = Omit<NewOf<typeof playerEvents.columns>, "occurred_at"> & {
  occurred_at?: string | undefined;
};

type PlayerEvent = RowOf<typeof playerEvents.columns>;

const MOST_BYTES = 8 * 1024;
const MOST_SHOWN = 20;

/**
 * Adds events, all or none, and answers them in their order. An event with a known external_id is answered as it was
 * first recorded. Throws `not_found` naming the missing players, and `conflict` naming the external_id of a different
 * event.
 */
export async function recordEvents(context: Context, events: readonly NewEvent[]): Promise<PlayerEvent[]> {
  refuseLarge(events);
  const players = await playersNamed(context, events);
  const rows = events.map((event, index) => ({
    ...event,
    id: randomUUIDv7(),
    player_id: players[index]!,
  }));
  const added = await insertNew(context, rows);
  await enrollByEvents(context, [...added.values()]);
  const known = rows.filter(({ id }) => !added.has(id)).map(({ external_id }) => external_id!);
  const before = known.length > 0 ? await recorded(context, known) : new Map<string, PlayerEvent>();
  return rows.map((row, index) => {
    const result = added.get(row.id) ?? before.get(row.external_id!)!;
    if (!added.has(row.id) && isOther(result, row)) throw taken(events, index);
    return result;
  });
}

function refuseLarge(events: readonly NewEvent[]): void {
  const large = events.findIndex(
    ({ properties }) => Buffer.byteLength(JSON.stringify(properties)) > MOST_BYTES,
  );
  if (large < 0) return;
  const message = `are larger than ${MOST_BYTES} bytes`;
  const field = fieldOf(events, large, "properties");
  throw new Fault("invalid", { message: `${field}: ${message}`, details: [{ field, message }] });
}

/** The ids of the named players, locked against an erasure meanwhile. Our own id wins over an operator's. */
async function playersNamed({ sql, property }: Context, events: readonly NewEvent[]): Promise<string[]> {
  const names = [...new Set(events.map(({ player_id }) => player_id))];
  const ids = names.filter((name) => isUuid(name));
  const found = (wanted: string[], column: "id" | "player_id") => sql<{ id: string; player_id: string }[]>`
    select p.id, p.player_id from unnest(${wanted}::${raw(column === "id" ? "uuid" : "text")}[]) w (name)
      join players p on p.property_id = ${property.id} and p.${identifier(column)} = w.name
    where p.deleted_at is null and p.status <> 'erased'
    for key share of p`;
  const merged = (wanted: string[]) => sql<{ id: string; player_id: string }[]>`
    select p.id, d.player_id from unnest(${wanted}::text[]) w (name)
      join players d on d.property_id = ${property.id} and d.player_id = w.name
        and d.deleted_at is not null and d.merged_into is not null
      join players p on p.property_id = ${property.id} and p.id = d.merged_into
    where p.deleted_at is null
    for key share of p`;
  const [byAlias, byName, byId] = await Promise.all([
    merged(names),
    found(names, "player_id"),
    found(ids, "id"),
  ]);
  const players = new Map([
    ...byAlias.map((one): [string, string] => [one.player_id, one.id]),
    ...byName.map((one): [string, string] => [one.player_id, one.id]),
    ...byId.map((one): [string, string] => [one.id, one.id]),
  ]);
  const meant = events.map(({ player_id: name }) => players.get(name) ?? players.get(name.toLowerCase()));
  const missing = meant.flatMap((id, index) => (id === undefined ? [index] : []));
  if (missing.length > 0) throw unknown(events, missing);
  return meant as string[];
}

function unknown(events: readonly NewEvent[], missing: number[]): Fault {
  const details = missing.slice(0, MOST_SHOWN).map(
    (index): FaultDetail => ({
      field: fieldOf(events, index, "player_id"),
      message: `No player with the id or player_id ${events[index]!.player_id} in this property.`,
    }),
  );
  const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
  return new Fault("not_found", { message: `${details[0]!.field}: ${details[0]!.message}${more}`, details });
}

/** In the order of their external_ids, so that two reports of the same events do not wait for each other. */
async function insertNew(
  { sql, property }: Context,
  rows: readonly object[],
): Promise<Map<string, PlayerEvent>> {
  const added = await sql<{ row: PlayerEvent }[]>`
    with r as (
      insert into player_events (property_id, id, player_id, name, occurred_at, properties, source, external_id)
      select ${property.id}, id, player_id, name, coalesce(occurred_at, now()), properties, source, external_id
      from jsonb_to_recordset(${rows}::jsonb) as e(id uuid, player_id uuid, name text,
        occurred_at timestamptz, properties jsonb, source text, external_id text)
      order by external_id
      on conflict (property_id, external_id) where external_id is not null do nothing
      returning *)
    select row_to_json(v) as row from (select ${columnNames(playerEvents)} from r) v`;
  return new Map(added.map(({ row }) => [row.id, row]));
}

/** The stored events with these external_ids. */
async function recorded(
  { sql, property }: Context,
  externalIds: string[],
): Promise<Map<string, PlayerEvent>> {
  const rows = await sql<{ row: PlayerEvent & { external_id: string } }[]>`
    select row_to_json(v) as row from (
      select ${columnNames(playerEvents)} from unnest(${externalIds}::text[]) w (wanted)
        join player_events on property_id = ${property.id} and external_id = wanted) v`;
  return new Map(rows.map(({ row }) => [row.external_id, row]));
}

/** Whether a report with the same external_id says something else than what is stored. */
function isOther(
  stored: PlayerEvent,
  { player_id, name, occurred_at, properties, source }: NewEvent,
): boolean {
  return (
    stored.player_id !== player_id ||
    stored.name !== name ||
    (occurred_at !== undefined && Date.parse(stored.occurred_at) !== Date.parse(occurred_at)) ||
    (source != null && stored.source !== source) ||
    !isDeepStrictEqual(stored.properties, properties)
  );
}

function taken(events: readonly NewEvent[], index: number): Fault {
  const field = fieldOf(events, index, "external_id");
  const message = `${events[index]!.external_id} was recorded with other contents, which stay. An event cannot be changed.`;
  return new Fault("conflict", { message: `${field}: ${message}`, details: [{ field, message }] });
}

const fieldOf = (events: readonly NewEvent[], index: number, name: keyof NewEvent) =>
  events.length > 1 ? `[${index}].${name}` : name;
