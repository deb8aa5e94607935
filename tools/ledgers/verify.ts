import type { Sql } from "#db/database.ts";
import { type Fragment, identifier, join, sql } from "#db/sql.ts";
import { detailHash, LEDGERS, recordHash } from "#runtime/ledgers.ts";
import { type Chain, chainTables, type Head, headOf } from "./chain.ts";
import { type Retired, retiredOf } from "./retirement.ts";
import { BEGINNING, type Seal, sealHash, sealKeyId, sealMac, type Verifying } from "./seals.ts";

/** The flaws of a ledger, each with its meaning. */
export const FLAWS = {
  row_changed: "The row was changed after it was written.",
  row_removed: "A sealed row is missing.",
  row_inserted: "The row was added to a sealed range.",
  row_blanked: "The row's personal part is missing without an erasure.",
  seal_changed: "The seal was changed after it was written.",
  seal_removed: "A seal is missing.",
} as const;

export interface Flaw {
  kind: keyof typeof FLAWS;
  row_id: string | null;
  seal: number | null;
}

export interface Verified {
  seals: number;
  /** The next seal to verify; null after the last one. */
  next_seal: number | null;
  /** Seals that were keyed with another APP_SECRET: their hashes are checked, their codes cannot be. */
  other_secret: number;
  first: Flaw | null;
}

/**
 * Verifies `most` seals of one ledger from `seq` on, with their rows. After the last seal it verifies the unsealed rows
 * too.
 */
export async function verifySeals(
  { sql, config }: Verifying,
  chain: Chain,
  { from, most }: { from: number; most: number },
): Promise<Verified> {
  // Read before the seals: a seal that is added meanwhile is newer than it, so none seems to be missing.
  const head = await headOf(sql, chain);
  const { seals, ownSeal } = chainTables(sql, chain);
  const read = await sql<Seal[]>`
    select seq, from_at, to_at, row_ids, row_hashes, previous_hash, seal_hash, mac, key_id
    from ${seals} s
    where ${ownSeal("s")} and seq >= ${from - 1}
    order by seq limit ${most + 1 + (from > 1 ? 1 : 0)}`;
  const before = read[0]?.seq === from - 1 ? read[0] : null;
  const page = (before ? read.slice(1) : [...read]).slice(0, most);
  const last = page.at(-1) ?? before;
  const isEnd = read.at(-1)?.seq === last?.seq;
  const range = {
    after: before?.to_at ?? BEGINNING,
    upTo: isEnd ? "infinity" : last!.to_at,
    firstSeal: from,
    lastSeal: last?.seq ?? 0,
  };
  const broken =
    brokenSeal(config, chain, page, before, from) ?? (isEnd ? missingHead(last ?? null, head) : null);
  const retired = await retiredOf({ sql, config }, chain.propertyId);
  const flaw = await firstFlaw(sql, chain, range, retired);
  const first = earlier(flaw, broken);
  const otherSecret = page.filter(({ key_id }) => key_id !== sealKeyId(config)).length + retired.otherSecret;
  return {
    seals: page.length,
    next_seal: isEnd || first ? null : last!.seq + 1,
    other_secret: otherSecret,
    first,
  };
}

/** When a row and its seal show the same flaw, the row is named. */
function earlier(row: Flaw | null, seal: Flaw | null): Flaw | null {
  if (!row || !seal) return row ?? seal;
  return (row.seal ?? Number.POSITIVE_INFINITY) <= seal.seal! ? row : seal;
}

function brokenSeal(
  config: Verifying["config"],
  chain: Chain,
  page: readonly Seal[],
  before: Seal | null,
  from: number,
): Flaw | null {
  let previous = before;
  for (const [index, seal] of page.entries()) {
    const wanted = from + index;
    if (seal.seq !== wanted || (wanted > 1 && previous === null)) {
      return { kind: "seal_removed", row_id: null, seal: previous === null ? wanted - 1 || wanted : wanted };
    }
    const linked =
      seal.from_at === (previous?.to_at ?? BEGINNING) &&
      (previous === null ? seal.previous_hash === null : seal.previous_hash?.equals(previous.seal_hash));
    const hash = sealHash(chain, seal);
    const keyed = seal.key_id !== sealKeyId(config) || sealMac(config, hash).equals(seal.mac);
    if (!linked || !keyed || !hash.equals(seal.seal_hash))
      return { kind: "seal_changed", row_id: null, seal: wanted };
    previous = seal;
  }
  return null;
}

function missingHead(last: Seal | null, head: Head): Flaw | null {
  const [wanted, found] = [head.seq ?? 0, last?.seq ?? 0];
  if (wanted > found) return { kind: "seal_removed", row_id: null, seal: found + 1 };
  if (wanted === found && last !== null && last.seal_hash.toString("hex") !== head.hash) {
    return { kind: "seal_changed", row_id: null, seal: found };
  }
  return null;
}

interface Range {
  after: string;
  upTo: string;
  firstSeal: number;
  lastSeal: number;
}

/** The first row of the range that contradicts its hashes, its seal or an erasure. */
async function firstFlaw(sql: Sql, chain: Chain, range: Range, retired: Retired): Promise<Flaw | null> {
  const { rows, ownRow, seals, ownSeal } = chainTables(sql, chain);
  const [flaw] = await sql<Flaw[]>`
    with expected as materialized (
      select s.seq, e.id, e.hash, e.place
      from ${seals} s cross join lateral unnest(s.row_ids, s.row_hashes) with ordinality as e(id, hash, place)
      where ${ownSeal("s")}
        and s.seq between ${range.firstSeal} and ${range.lastSeal}
    ), actual as materialized (
      select t.id, t.created_at, t.record_hash, t.erased_by, ${intact(chain)} as intact
      from ${rows} t
      where ${ownRow("t")} and t.created_at > ${range.after} and t.created_at <= ${range.upTo}
    ), closed as (
      select max(to_at) as until from ${seals} s
      where ${ownSeal("s")} and seq = ${range.lastSeal}
    ), erasure as materialized (${erasures(sql, chain, retired)}),
    judged as (
      select case
          when a.id is null then ${removal(chain, retired)}
          when not a.intact then 'row_changed'
          when e.id is null and a.created_at <= closed.until then 'row_inserted'
          when a.record_hash <> e.hash then 'row_changed'
          when a.erased_by is not null and not coalesce(x.lawful, false) then 'row_blanked'
        end as kind,
        coalesce(a.id, e.id) as row_id, a.created_at, e.place, coalesce(e.seq, (
          select s.seq from ${seals} s where ${ownSeal("s")}
            and a.created_at > s.from_at and a.created_at <= s.to_at limit 1)) as seal
      from expected e full join actual a on a.id = e.id cross join closed
      left join erasure x on x.erased_by = a.erased_by
    )
    select kind, row_id, seal from judged where kind is not null
    order by seal nulls last, place nulls first, created_at, row_id limit 1`;
  return flaw ?? null;
}

/** A sealed row that is missing: a flaw, unless its month was dropped. */
function removal({ ledger }: Chain, { isDropped }: Retired): Fragment {
  return ledger === "audit_logs"
    ? sql`case when not ${isDropped(sql`e.id`)} then 'row_removed' end`
    : sql`'row_removed'`;
}

/** Whether a row's own hashes are correct, as far as the row still has the hashed values. */
function intact({ ledger }: Chain): Fragment {
  const personal = Object.keys(LEDGERS[ledger].personal).map((name) => sql`t.${identifier(name)}`);
  return sql`(t.record_hash = ${recordHash(ledger, "t")} and coalesce(case
    when t.erased_by is null then t.detail_hash = ${detailHash(ledger, "t")} and t.updated_at = t.created_at
    else num_nonnulls(t.salt, ${join(personal)}) = 0 end, false))`;
}

/**
 * The erasures that rows name. `lawful`: the audit log has the erasure, or had it in a month that was dropped, and it
 * blanked exactly these rows.
 */
function erasures(sql: Sql, { ledger, propertyId }: Chain, retired: Retired): Fragment {
  // The platform's rows are never blanked.
  if (propertyId === null) return sql`select null::uuid as erased_by, false as lawful where false`;
  return sql`
    select b.erased_by, exists (
        select from audit_logs l
        where l.property_id = ${propertyId} and l.entity_id = b.erased_by
          and l.action in ('data_deletion', 'finish_erasure')
          and l.detail_hash = ${detailHash("audit_logs", "l")}
          and l.diff -> 'blanked' -> ${ledger} = b.facts
      ) or exists (
        select from ${retired.erasures} where d.erased_by = b.erased_by and d.blanked -> ${ledger} = b.facts
      ) as lawful
    from (
      select t.erased_by, jsonb_build_object('rows', count(*),
        'ids_sha256', encode(sha256(convert_to(string_agg(t.id::text, ',' order by t.id), 'UTF8')), 'hex')) as facts
      from (
        select t.id, t.erased_by from ${identifier(ledger)} t
        where t.property_id = ${propertyId} and t.erased_by is not null
        ${ledger === "audit_logs" ? sql`union select d.id, d.erased_by from ${retired.blanked}` : sql``}
      ) t
      group by t.erased_by) b`;
}
