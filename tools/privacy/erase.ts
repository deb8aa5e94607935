import { createHash, randomUUID } from "node:crypto";
import { identifier, join, raw } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { TRACES } from "./traces/all.ts";
import type { Person } from "./traces/person.ts";
import type { Anonymized, Erasure, SettingToReview, Trace } from "./traces/trace.ts";

type Counts = Record<string, number>;

/** The rows of a ledger that an erasure has blanked. A verifier compares them with the rows that name the erasure. */
export interface Blanked {
  rows: number;
  ids_sha256: string;
}

export interface Erased {
  deleted: Counts;
  anonymized: Counts;
  retained: { table: string; basis: string }[];
  /** Settings for somebody to look at. */
  look_at: SettingToReview[];
  /** By ledger. */
  blanked: Record<string, Blanked>;
}

/**
 * Erases a person from every table of the registry, in the caller's transaction. Safe to repeat. `erasedBy` identifies
 * this erasure in the ledgers: the caller's audit row with that `entity_id` says which rows were blanked.
 */
export async function eraseTraces(
  { sql, property }: Pick<Context, "sql" | "property">,
  person: Person,
  erasedBy: string,
): Promise<Erased> {
  const erasure: Erasure = { sql, property, person, anonId: randomUUID(), erasedBy };
  const erased: Erased = { deleted: {}, anonymized: {}, retained: [], look_at: [], blanked: {} };
  for (const trace of TRACES) {
    const { table } = trace;
    if (trace.erasure === "delete") add(erased.deleted, table, await remove(erasure, trace));
    else if (typeof trace.erasure === "function") {
      const { rows, look = [] } = await trace.erasure(erasure);
      add(erased.anonymized, table, rows);
      erased.look_at.push(...look);
    } else {
      const ids = await anonymize(erasure, trace, trace.erasure);
      add(erased.anonymized, table, ids.length);
      if (ids.length === 0) continue;
      const { basis, set } = trace.erasure;
      if (basis) erased.retained.push({ table, basis });
      if ("erased_by" in set) erased.blanked[table] = { rows: ids.length, ids_sha256: idsHash(ids) };
    }
  }
  await suppressErased(erasure);
  await refuseFormer(erasure);
  if (person.ownHashes.length > 0) {
    erased.retained.push({ table: "suppressions", basis: "A keyed hash of each address bars it for good" });
  }
  return { ...erased, retained: [...new Map(erased.retained.map((one) => [one.table, one])).values()] };
}

/** SHA-256 over the sorted ids of blanked rows. */
function idsHash(ids: readonly string[]): string {
  return createHash("sha256")
    .update([...ids].sort().join())
    .digest("hex");
}

function add(counts: Counts, table: string, rows: number): void {
  if (rows > 0) counts[table] = (counts[table] ?? 0) + rows;
}

async function remove(erasure: Erasure, trace: Trace): Promise<number> {
  const { sql, property } = erasure;
  const theirs = trace.byId
    ? sql`t.id = any(${await lockedById(erasure, trace)}::uuid[])`
    : trace.rows(erasure);
  const gone = await sql`
    delete from ${identifier(trace.table)} t where t.property_id = ${property.id} and ${theirs}`;
  return gone.count;
}

async function lockedById(erasure: Erasure, { table, rows }: Trace): Promise<string[]> {
  const { sql, property } = erasure;
  const locked = await sql<{ id: string }[]>`
    select t.id from ${identifier(table)} t where t.property_id = ${property.id} and ${rows(erasure)}
    order by t.id for update`;
  return locked.map(({ id }) => id);
}

async function anonymize(erasure: Erasure, { table, rows }: Trace, { set }: Anonymized): Promise<string[]> {
  const { sql, property } = erasure;
  if (Object.keys(set).length === 0) return [];
  const all: Anonymized["set"] = { ...set, updated_at: "clock.moment" };
  const values = Object.entries(all).map(
    ([name, value]) => sql`${identifier(name)} = ${typeof value === "string" ? raw(value) : value(erasure)}`,
  );
  const changed = await sql<{ id: string }[]>`
    with clock as materialized (select now() as moment)
    update ${identifier(table)} t set ${join(values)}
    from clock
    where t.property_id = ${property.id} and ${rows(erasure)} returning t.id`;
  return changed.map(({ id }) => id);
}

/** Bars these addresses for ever: no message goes to them, and no player can get them. */
async function suppressErased({ sql, property, person }: Erasure): Promise<void> {
  await sql`
    insert into suppressions (property_id, channel, address_hash, reason)
    select ${property.id}, 'all', decode(h, 'hex'), 'erased' from unnest(${person.ownHashes}::text[]) as h
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null do nothing`;
}

/**
 * Suppresses former addresses. Another person may own one by now, and the property does not know them. It gets no
 * message until its new owner opts in.
 */
async function refuseFormer({ sql, property, person }: Erasure): Promise<void> {
  const rows = person.former.flatMap(({ hash, isEmail }) =>
    (isEmail ? ["email"] : ["sms", "voice"]).map((channel) => ({ hash, channel })),
  );
  await sql`
    insert into suppressions (property_id, id, channel, address_hash, reason)
    select distinct on (r.hash, r.channel) ${property.id}::uuid, uuid_v7(), r.channel, decode(r.hash, 'hex'),
      'unsubscribed'
    from jsonb_to_recordset(${rows}::jsonb) as r(hash text, channel text) order by r.hash, r.channel
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = excluded.updated_at`;
}
