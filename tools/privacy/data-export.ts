import { z } from "zod";
import { identifier, raw } from "#db/sql.ts";
import { isUuid, UUID } from "#db/text.ts";
import { byteaLiteral } from "#db/types.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { addressHash } from "#tools/people/address.ts";
import { findPlayer, furtherRecords } from "./player.ts";
import { completeRequest, openRequest } from "./request.ts";
import { TRACES } from "./traces/all.ts";
import { type KnownPlayer, personOf } from "./traces/person.ts";
import type { About, Trace } from "./traces/trace.ts";

const VERSION = 1;

/** The specification's keys are always present, even when empty. */
const NAMED = [
  "consent_records",
  "campaign_sends",
  "game_plays",
  "inbox_messages",
  "journey_enrollments",
  "suppressions",
  "dnc_entries",
  "social_shares",
  "segments",
  "audit_entries",
];

/** Our own bookkeeping means nothing to the person. The database computes the last ones from the player's other columns. */
const INTERNAL =
  /(_hash|_hashes|_sealed|^salt|^dedupe_key|^claimed_(by|at)|^erased_by|^property_id|^zones|^region|^bars_\w+)$/;

export default tool({
  name: "data_export",
  title: "Export everything about a player",
  description:
    "Returns all data of a player as one JSON object: the record, consents, sends, plays, messages, lists, audit entries and all else. The export itself is recorded.",
  scope: "read",
  effect: "read",
  core: true,
  recorded: true,
  zipped: "player-data",
  property: "propertyId",
  input: { propertyId: z.uuid(), playerId: z.uuid().describe("From list_players") },
  output: z
    .record(z.string(), z.unknown())
    .describe("By record type; a type without records has an empty list"),
  faults: ["not_found", "conflict"],
  deadline: 30_000,
  async handler(context, { playerId }) {
    const { property, call, audit } = context;
    const player = await findPlayer(context, playerId);
    const requestId = await openRequest(context, "export", player.id, call.actor.id);
    const exported = await exportOf(context, player);
    const numbers = Object.entries(exported).flatMap(([name, value]) =>
      Array.isArray(value) && value.length > 0 ? [[name, value.length]] : [],
    );
    const rows = Object.fromEntries(numbers);
    await completeRequest(context, requestId, rows);
    audit({ entity: "players", entityId: player.id, diff: { request_id: requestId, rows } });
    return {
      export_version: VERSION,
      generated_at: new Date(context.now()).toISOString(),
      property_id: property.id,
      ...exported,
    };
  },
});

async function exportOf(context: Context, player: KnownPlayer): Promise<Record<string, unknown>> {
  const { sql, property } = context;
  const records = [player, ...(await furtherRecords(context, player.id))];
  const people = await Promise.all(records.map((one) => personOf(context, one)));
  const [row] = await sql<{ player: object }[]>`
    select to_jsonb(t) as player from players t where t.property_id = ${property.id} and t.id = ${player.id}`;
  const exported: Record<string, unknown> = { player: shown(row!.player) };
  for (const name of NAMED) exported[name] = [];
  for (const trace of TRACES) {
    if (trace.exported === null) continue;
    const rows: object[] = [];
    for (const person of people) rows.push(...(await rowsOf({ sql, property, person }, trace)));
    exported[trace.exported] = people.length > 1 ? distinct(rows) : rows;
  }
  return exported;
}

/** A search by text may find one row for two records of the person. */
function distinct(rows: readonly object[]): object[] {
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

async function rowsOf(about: About, { table, rows, more, searched }: Trace): Promise<object[]> {
  const { sql, property } = about;
  const found = await sql<{ row: object }[]>`
    select to_jsonb(t) ${more ? sql`|| ${more(about)}` : sql``} as row
    from ${identifier(table)} t where t.property_id = ${property.id} and ${rows(about)}
    order by ${raw(ORDERS[table] ?? "t.created_at, t.id")}`;
  const all = found.map(({ row }) => row);
  return (searched ? await withoutOthers(about, all) : all).map(shown);
}

const UUIDS = new RegExp(UUID, "g");
const ADDRESSES = /[^\s"'<>()[\]\\,;:=@]{1,64}@[^\s"'<>()[\]\\,;:=@]{1,253}|\+\d{6,15}/g;

/** Leaves out rows that text search found, that are about another record, and that name another player. */
async function withoutOthers({ sql, property, person }: About, rows: object[]): Promise<object[]> {
  const named = rows.map((row) => {
    const text = JSON.stringify(row).toLowerCase();
    return isAbout(row, person.id) ? [] : [...(text.match(UUIDS) ?? []), ...(text.match(ADDRESSES) ?? [])];
  });
  const names = [...new Set(named.flat())];
  if (names.length === 0) return rows;
  const ids = names.filter(isUuid);
  const hashes = new Map(names.map((name) => [name, addressHash(property.pepper, name).toString("hex")]));
  const given = byteaLiteral([...new Set(hashes.values())]);
  const live = sql`p.property_id = ${property.id} and p.id <> ${person.id} and p.deleted_at is null`;
  // A union, so that each condition uses its own index.
  const players = await sql<{ name: string }[]>`
    with live as (
      select encode(h, 'hex') as name from unnest(${given}::bytea[]) h join players p on p.email_hash = h and ${live}
      union select encode(h, 'hex') from unnest(${given}::bytea[]) h join players p on p.phone_hash = h and ${live}
      union select p.id::text from unnest(${ids}::uuid[]) n join players p on p.id = n and ${live})
    select name from live where not exists (select from players p
      where p.property_id = ${property.id} and p.id = ${person.id}
        and name in (encode(p.email_hash, 'hex'), encode(p.phone_hash, 'hex')))`;
  const others = new Set(players.map(({ name }) => name));
  return rows.filter(
    (_, at) => !named[at]!.some((name) => others.has(name) || others.has(hashes.get(name)!)),
  );
}

/** An audit row about the player's record, or an event about the player or something of theirs. */
function isAbout(row: Partial<Record<string, unknown>>, id: string): boolean {
  const { object } = (row.data ?? {}) as { object?: { id?: unknown; player_id?: unknown } };
  return [row.entity_id, row.player_id, object?.id, object?.player_id].includes(id);
}

/** For records without a time of their own. */
const ORDERS: Record<string, string> = {
  campaign_clicks: "t.created_at, t.send_id, t.link_id",
  import_errors: "t.job_id, t.row, t.seq",
  outbox: "t.occurred_at, t.id",
  player_devices: "t.created_at, t.device_hash",
  validation_results: "t.job_id, t.seq",
};

function shown(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !INTERNAL.test(name)));
}
