import { createHash, createHmac, hkdfSync } from "node:crypto";
import { type Fragment, identifier, type Sql, sql } from "#db/sql.ts";
import { arrayLiteral } from "#db/types.ts";
import type { AppSecret } from "#runtime/config.ts";
import type { PropertyLedger } from "#runtime/ledgers.ts";
import { type Chain, chainTables, noteHead } from "./chain.ts";

/** The means of verification. */
export interface Verifying {
  sql: Sql;
  config: AppSecret;
}

/** Before the first row of any ledger. */
export const BEGINNING = "1970-01-01T00:00:00+00:00";

/** A closed range of a ledger: times after `from_at`, up to and with `to_at`. */
export interface Seal {
  seq: number;
  from_at: string;
  to_at: string;
  row_ids: string[];
  row_hashes: Buffer[];
  previous_hash: Buffer | null;
  seal_hash: Buffer;
  mac: Buffer;
  key_id: string;
}

/** The correct hash of a seal: over its range, its rows and the previous seal. */
export function sealHash(
  chain: Chain,
  seal: Pick<Seal, "seq" | "from_at" | "to_at" | "row_ids" | "row_hashes" | "previous_hash">,
): Buffer {
  const { seq, from_at, to_at, row_ids, row_hashes, previous_hash } = seal;
  const head = [chain.propertyId, chain.ledger, seq, from_at, to_at, previous_hash?.toString("hex") ?? null];
  const hash = createHash("sha256").update(JSON.stringify(head)).update(row_ids.join());
  for (const row of row_hashes) hash.update(row);
  return hash.digest();
}

/**
 * A keyed code over a seal's hash. The key comes from APP_SECRET: write access to the database is not enough to forge a
 * chain over changed rows.
 */
export function sealMac(config: AppSecret, hash: Buffer): Buffer {
  return createHmac("sha256", sealKey(config)).update(hash).digest();
}

/** Distinguishes the key of this APP_SECRET from others. */
export function sealKeyId(config: AppSecret): string {
  return createHash("sha256").update("id").update(sealKey(config)).digest("hex").slice(0, 16);
}

async function propertyIds(sql: Sql): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id from properties`;
  return rows.map(({ id }) => id);
}

/** The key of seals and retirements, from APP_SECRET. */
export function sealKey({ appSecret }: AppSecret): Buffer {
  return Buffer.from(hkdfSync("sha256", appSecret, "", "ledger seals", 32));
}

/**
 * The time up to which ledgers can be closed. Every transaction that began before it has ended, so no row can appear
 * behind it. `margin` in seconds covers a clock that is set back. Null when the database does not show running
 * transactions.
 */
export async function safeHorizon(sql: Sql, margin: number): Promise<string | null> {
  const [row] = await sql<{ horizon: string | null }[]>`
    select ledger_horizon() - make_interval(secs => ${margin}) as horizon`;
  return row!.horizon;
}

/** The properties whose ledger has rows to seal. */
export async function unsealed(sql: Sql, ledger: PropertyLedger, horizon: string): Promise<string[]> {
  // One statement a property, sent together: a distributed database routes each to one shard.
  const found = await Promise.all(
    (await propertyIds(sql)).map(async (id) => {
      const rows = await sql`
        select from ${identifier(ledger)}
        where property_id = ${id} and created_at <= ${horizon} and created_at > ${lastEnd(id, ledger)}
          ${idsSince(ledger, lastEnd(id, ledger))}
        limit 1`;
      return rows.length > 0 ? [id] : [];
    }),
  );
  return found.flat();
}

const lastEnd = (id: string, ledger: PropertyLedger) => sql`coalesce((
  select to_at from ledger_seals where property_id = ${id} and ledger = ${ledger} order by seq desc limit 1), ${BEGINNING})`;

/** Leaves the months before a time aside. A month more, because a clock may have been wrong when a row got its id. */
function idsSince(ledger: Chain["ledger"], time: Fragment): Fragment {
  return ledger === "audit_logs"
    ? sql`and id >= first_id_of(${time}::timestamptz - interval '31 days')`
    : sql``;
}

/**
 * Closes the next range of a ledger, of about `most` rows. Rows of one transaction share their time and stay together.
 * As the system. False when no rows were left to close.
 */
export async function sealNext(
  sql: Sql,
  config: AppSecret,
  chain: Chain,
  { horizon, most }: { horizon: string; most: number },
): Promise<boolean> {
  const { propertyId, ledger } = chain;
  const { rows, ownRow, seals, ownSeal } = chainTables(sql, chain);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`seal ${ledger} ${propertyId}`}, 0))`;
  const [last] = await sql<{ seq: number; to_at: string; seal_hash: Buffer }[]>`
    select seq, to_at, seal_hash from ${seals} s where ${ownSeal("s")} order by seq desc limit 1`;
  const from = last?.to_at ?? BEGINNING;
  const [range] = await sql<Pick<Seal, "to_at" | "row_ids" | "row_hashes">[]>`
    with closing as (
      select coalesce((
        select created_at from ${rows} r
        where ${ownRow("r")} and created_at > ${from} and created_at <= ${horizon}
          ${idsSince(ledger, sql`${from}`)}
        order by created_at, id offset ${most - 1} limit 1), ${horizon}) as to_at
    )
    select closing.to_at, array_agg(r.id order by r.created_at, r.id) as row_ids,
      array_agg(r.record_hash order by r.created_at, r.id) as row_hashes
    from closing join ${rows} r on ${ownRow("r")} and r.created_at > ${from}
      and r.created_at <= closing.to_at ${idsSince(ledger, sql`${from}`)}
    group by closing.to_at`;
  if (!range) return false;
  const seal = { ...range, seq: (last?.seq ?? 0) + 1, from_at: from, previous_hash: last?.seal_hash ?? null };
  const hash = sealHash(chain, seal);
  await sql`
    insert into ${seals} (${propertyId ? sql`property_id,` : sql``} ledger, seq, from_at, to_at, row_ids, row_hashes,
      previous_hash, seal_hash, mac, key_id)
    values (${propertyId ? sql`${propertyId},` : sql``} ${ledger}, ${seal.seq}, ${from}, ${seal.to_at}, ${seal.row_ids}::uuid[],
      ${arrayLiteral(seal.row_hashes)}::bytea[], ${seal.previous_hash}, ${hash}, ${sealMac(config, hash)}, ${sealKeyId(config)})`;
  await noteHead(sql, chain, { seq: seal.seq, hash: hash.toString("hex") });
  return true;
}
