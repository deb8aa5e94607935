import { type Fragment, join, raw, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { youngestBirth } from "#tools/compliance/gate.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import { PLACES } from "#tools/people/places.ts";
import { type ImportParams, MATCH_KEYS } from "./job/import-job.ts";
import { records, survey } from "./read/csv.ts";
import { decimalOf } from "./read/file-decimal.ts";
import { seenIdentities } from "./read/identity-set.ts";
import { layoutOf } from "./read/layout.ts";
import { rowReader, type Staged } from "./read/rows.ts";
import { lookingUp, matches } from "./write/verdicts.ts";

/** The players whose values the rows go over, and those of them whom a protection leaves by it. */
export interface Overwritten {
  players: number;
  /** They leave vip_hold. */
  holds: number;
  /** They were too young, and are not by another birth date. */
  ages: number;
  /** They let go of an address on a do-not-call list or among the suppressions. */
  listed: number;
  /** Mail, or texts and calls, to them go to another address, on a consent that they have given or without need of one. */
  mails: number;
  phones: number;
  /** Their quiet hours go by another place. */
  places: number;
}

export async function countOverwritten(
  context: Context,
  rows: readonly Staged[],
  { on_conflict }: ImportParams,
): Promise<Overwritten> {
  const { property } = context;
  const known = rows.map(({ row, matchOn, values }) => ({ ...values, row, match_on: matchOn, custom: null }));
  const fills = on_conflict === "fill_blanks";
  // As the import writes them.
  const after = (name: string) => {
    const [old, given] = [sql`q.${raw(name)}`, sql`r.${raw(name)}`];
    return fills ? sql`coalesce(${old}, ${given})` : sql`coalesce(${given}, ${old})`;
  };
  const changes = (name: string) => sql`${after(name)} is distinct from q.${raw(name)}`;
  const youngest = youngestBirth(property);
  const agreed = (...channels: string[]) =>
    sql`exists (select from jsonb_each(q.consents) c where c.key = any(${channels}::text[]) and c.value = 'true')`;
  const mails =
    property.email_consent_mode === "opt_out"
      ? sql`q.consents ->> 'email' is distinct from 'false'`
      : agreed("email");
  const suppressed = (hash: Fragment) => sql`exists (
    select from suppressions s where s.property_id = ${property.id}::uuid and s.address_hash = ${hash}
      and s.lifted_at is null and (s.expires_at is null or s.expires_at > now()))`;
  const called = sql`exists (
    select from dnc_entries d where d.property_id = ${property.id}::uuid and d.phone_hash = q.phone_hash
      and (d.expires_at is null or d.expires_at > now()))`;
  const count = (condition: Fragment, name: keyof Overwritten) =>
    sql`count(distinct p.id) filter (where ${condition})::int as ${raw(name)}`;
  const counting = context.sql<[Overwritten]>`
    select ${sql`count(distinct p.id)::int as players,
      ${count(sql`not ${fills}::boolean and q.status = 'vip_hold' and r.status <> 'vip_hold'`, "holds")},
      ${count(sql`q.birth_date > ${youngest} and ${after("birth_date")} <= ${youngest}`, "ages")},
      ${count(
        sql`${changes("email")} and ${suppressed(sql`q.email_hash`)}
          or ${changes("phone_hash")} and (${suppressed(sql`q.phone_hash`)} or ${called})`,
        "listed",
      )},
      ${count(sql`${changes("email")} and ${mails}`, "mails")},
      ${count(sql`${changes("phone")} and ${agreed("sms", "voice")}`, "phones")},
      ${count(sql`(${join(PLACES.map(changes), " or ")}) and (${mails} or ${agreed("sms", "voice", "push")})`, "places")}`}
    from jsonb_to_recordset(${known}::jsonb) as r(row int, match_on text, player_id text, email text, phone text,
      phone_hash bytea, status text, birth_date date, timezone text, country text, state text, postal_code text)
    cross join lateral (${matches(context, MATCH_KEYS, true)}) p
    join players q on q.property_id = ${property.id} and q.id = p.id`;
  const [counted] = await lookingUp(context, counting);
  return counted;
}

/** The rows that a file would write; an unreadable file has none, and its job says why. */
export async function writtenRows(
  context: Context,
  file: Buffer,
  params: ImportParams,
  customs: CustomFields,
): Promise<Staged[]> {
  return readRows(context, file, params, customs).catch((error: unknown) => {
    if (error instanceof Fault) return [];
    throw error;
  });
}

async function readRows(
  { property, now }: Context,
  file: Buffer,
  params: ImportParams,
  customs: CustomFields,
): Promise<Staged[]> {
  async function* bytes() {
    yield file;
  }
  const found = await survey(bytes(), params);
  const staged: Staged[] = [];
  const unrecorded = { no_evidence: 0, no_date: 0 };
  const lost = { no_identifier: 0, too_many_cells: 0 };
  let readRow: ReturnType<typeof rowReader> | null = null;
  let row = 0;
  for await (const cells of records(bytes(), found)) {
    if (!readRow) {
      const header = params.has_header ? cells : cells.map((_cell, index) => String(index + 1));
      const layout = layoutOf(header, params, customs);
      readRow = rowReader({
        layout,
        params,
        property,
        customs,
        seen: seenIdentities(),
        unrecorded,
        lost,
        tiers: new Map(),
        decimal: decimalOf(found, params, layout, customs),
        now: now(),
      });
      if (params.has_header) continue;
    }
    row += 1;
    const read = readRow(cells, row);
    if (!Array.isArray(read)) staged.push(read);
  }
  return staged;
}
