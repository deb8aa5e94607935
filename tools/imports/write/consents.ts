import { createHash, randomUUIDv7 } from "node:crypto";
import { type Fragment, sql } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import { hasEvidence, usualLevel } from "#tools/consent/evidence.ts";
import { appendConsents, type LedgerRow, refreshConsents } from "#tools/consent/ledger.ts";
import { type Choice, refuses } from "#tools/imports/job/choices.ts";
import type { ImportJob, ImportParams, Requester } from "#tools/imports/job/import-job.ts";
import type { Staged } from "#tools/imports/read/rows.ts";
import { type Meant, meantPlayers, type RowOfPlayer } from "./meant-players.ts";
import { suppressRefused } from "./refusals.ts";

interface Person {
  row: number;
  player_id: string;
  email_hash: string | null;
  phone_hash: string | null;
  consents: Record<string, boolean>;
  region: string;
}

/** A row that has a verdict. */
type Judged = Meant & { is_erased: boolean };

/** The rows of a batch, and those that are not written, with the players whom some of these meant before the batch. */
interface Written {
  rows: readonly Staged[];
  flawed: readonly Staged[];
  meant: readonly Meant[];
}

interface Statement {
  person: Person;
  choice: Choice;
}

/** The grants and refusals that were left out. */
interface LeftOut {
  standing: Standing[];
  /** The number of grants to a channel for which the player has no address, or another one than the row. */
  noAddress: number;
  /** The number of refusals of rows without a player, and without an address of the channel. */
  unbarred: number;
}

/** A consent of a row that a refusal stands against. */
export interface Standing {
  row: number;
  channel: Choice["channel"];
}

/**
 * Appends the rows' consents to the ledger and refreshes the players' consents from it. Only written rows grant. A
 * refusal is lifted by a later grant that has a date and the wording, of a program's import alone. Answers the grants
 * that were left out. A refusal also counts in the `flawed` rows, which are not written. If such a row's first key
 * means no player, its refusal bars the row's address.
 */
export async function writeConsents(
  context: Context,
  { params: { consent: evidence, by_agent: byAgent }, actor_type, actor_id }: ImportJob,
  { rows, flawed, meant }: Written,
): Promise<LeftOut> {
  const { sql, property } = context;
  const choices = new Map(
    [...rows, ...flawed].flatMap((row) => (row.choices.length > 0 ? [[row.row, row] as const] : [])),
  );
  if (choices.size === 0) return { standing: [], noAddress: 0, unbarred: 0 };
  const written = rows.length > 0 ? await writtenPeople(context, [...choices.keys()]) : [];
  const judged = rows.length > 0 && flawed.length > 0 ? await judgedRows(context, flawed) : [];
  const { others, met } = await otherPeople(context, flawed, [...meant, ...judged]);
  const known = new Set(others.map(({ row }) => row));
  // Nothing is stored of an erased person, whose address is barred already.
  const spared = new Set([...met, ...judged.flatMap(({ row, is_erased }) => (is_erased ? [row] : []))]);
  const strangers = flawed.filter((one) => refuses(one) && !spared.has(one.row));
  const lost = await suppressRefused(context, strangers);
  const said = written.flatMap((person) => statementsOf(person, choices));
  const reached = said.filter((one) => !one.choice.given || isReached(one, choices.get(one.person.row)!));
  const statements = [
    ...reached,
    ...others.flatMap((person) => statementsOf(person, choices)).filter(({ choice }) => !choice.given),
  ];
  const lifts = !byAgent && hasEvidence(evidence ?? {});
  const standing = new Set(statements.filter((one) => one.choice.given && stands(one, lifts)));
  const entries = await newEntries(
    context,
    statements.filter((one) => !standing.has(one)),
  );
  const left = {
    standing: [...standing].map(({ person, choice }) => ({ row: person.row, channel: choice.channel })),
    noAddress: said.length - reached.length,
    unbarred: lost.filter((row) => !known.has(row)).length,
  };
  if (entries.length === 0) return left;
  const [clock] = await sql<{ now: string }[]>`select clock_timestamp() as now`;
  const requester = { actor_type, actor_id };
  const ledger = entries.map((one) => ledgerRow(property, evidence, requester, one, clock!.now));
  await appendConsents(sql, ledger);
  await refreshConsents(sql, property, [...new Set(ledger.map((entry) => entry.player_id))]);
  await announce(context, ledger, "granted");
  await announce(context, ledger, "denied");
  return left;
}

/** Whether the player has refused the channel, and this grant cannot lift that. */
function stands({ person, choice }: Statement, lifts: boolean): boolean {
  return person.consents[choice.channel] === false && !(lifts && choice.occurredAt !== null);
}

function statementsOf(person: Person, choices: ReadonlyMap<number, Staged>): Statement[] {
  return (choices.get(person.row)?.choices ?? []).map((choice) => ({ person, choice }));
}

/** Whether the player has an address for the channel, and the row no other one: the consent was to the row's. */
function isReached({ person, choice: { channel } }: Statement, { values }: Staged): boolean {
  if (channel === "push") return true;
  const name = channel === "email" ? "email_hash" : "phone_hash";
  const own = person[name];
  return own !== null && (values[name] ?? `\\x${own}`) === `\\x${own}`;
}

/** The players of written rows. The write has locked them. */
async function writtenPeople(context: Context, rows: number[]): Promise<Person[]> {
  const written = await context.sql<RowOfPlayer[]>`
    select row, player as id from import_rows where verdict is null and row = any(${rows}::int[])`;
  return peopleOf(context, written, sql``);
}

/** The rows among them with a verdict, with the players whom they meant before others were written. */
async function judgedRows({ sql }: Context, flawed: readonly Staged[]): Promise<readonly Judged[]> {
  return sql<Judged[]>`
    select row, target as id, verdict = 'erased' as is_erased from import_rows
    where row = any(${flawed.map(({ row }) => row)}::int[])`;
}

/**
 * Locks and returns the players of rows that refuse a channel and are not written. `before` are the players whom they
 * meant before others were written. `met` are the rows whose first key means one now: another row of the batch may have
 * given the player another address.
 */
async function otherPeople(
  context: Context,
  flawed: readonly Staged[],
  before: readonly Meant[],
): Promise<{ others: Person[]; met: ReadonlySet<number> }> {
  if (flawed.length === 0) return { others: [], met: new Set() };
  const found = await meantPlayers(context, flawed);
  const known = before.flatMap(({ row, id }) => (id === null ? [] : [{ row, id }]));
  const named = [...new Map([...found, ...known].map((one) => [`${one.row} ${one.id}`, one])).values()];
  const others = await peopleOf(context, named, sql`and p.status <> 'erased' order by p.id for update`);
  const living = new Set(others.map(({ player_id }) => player_id));
  const met = found.flatMap(({ row, id, is_first }) => (is_first && living.has(id) ? [row] : []));
  return { others, met: new Set(met) };
}

/**
 * The rows with their players. The players are read by an array of ids. For a property without statistics the planner
 * expects one player, and a join would compare each row with each player.
 */
async function peopleOf(
  { sql, property }: Context,
  found: readonly RowOfPlayer[],
  condition: Fragment,
): Promise<Person[]> {
  if (found.length === 0) return [];
  const players = await sql<Omit<Person, "row">[]>`
    select p.id as player_id, encode(p.email_hash, 'hex') as email_hash, encode(p.phone_hash, 'hex') as phone_hash,
      p.consents, p.region
    from players p
    where p.property_id = ${property.id} and p.id = any(${[...new Set(found.map(({ id }) => id))]}::uuid[]) ${condition}`;
  const byId = new Map(players.map((player) => [player.player_id, player]));
  return found.flatMap(({ row, id }) => {
    const player = byId.get(id);
    return player ? [{ row, ...player }] : [];
  });
}

/** The statements that the ledger does not have yet. */
async function newEntries(context: Context, statements: readonly Statement[]): Promise<Statement[]> {
  const refused = new Map<string, Statement>();
  const latest = new Map<string, number>();
  for (const one of statements) {
    if (one.choice.given) continue;
    refused.set(`${keyOf(one)} ${one.choice.occurredAt}`, one);
    latest.set(keyOf(one), Math.max(timeOf(one.choice), latest.get(keyOf(one)) ?? -Infinity));
  }
  const known = await knownRefusals(context, [...refused.values()]);
  const isStanding = ({ person, choice }: Statement) => person.consents[choice.channel] === false;
  return [
    ...statements.filter(
      (one) => one.choice.given && timeOf(one.choice) > (latest.get(keyOf(one)) ?? -Infinity),
    ),
    ...[...refused.values()].filter((one) =>
      one.choice.occurredAt === null ? !isStanding(one) : !known.has(one),
    ),
  ];
}

function keyOf({ person, choice }: Statement): string {
  return `${person.player_id} ${choice.channel}`;
}

/** All choices without a date have the same time, so neither of two is the later one. */
function timeOf({ occurredAt }: Choice): number {
  return occurredAt === null ? Number.MAX_VALUE : Date.parse(occurredAt);
}

/** The dated refusals that an earlier import wrote into the ledger. */
async function knownRefusals(
  { sql, property }: Context,
  refused: readonly Statement[],
): Promise<Set<Statement>> {
  const dated = refused.flatMap(({ person, choice }, position) =>
    choice.occurredAt === null
      ? []
      : [{ position, id: person.player_id, channel: choice.channel, at: choice.occurredAt }],
  );
  if (dated.length === 0) return new Set();
  const found = await sql<{ position: number }[]>`
    select distinct a.position
    from jsonb_to_recordset(${dated}::jsonb) as a(position int, id uuid, channel text, at timestamptz)
    join consent_records c on c.property_id = ${property.id} and c.player_id = a.id and c.channel = a.channel
      and c.occurred_at = a.at and c.action = 'denied' and c.collection_method = 'import'`;
  return new Set(found.map(({ position }) => refused[position]!));
}

function ledgerRow(
  property: Context["property"],
  evidence: ImportParams["consent"],
  requester: Requester,
  { person, choice }: Statement,
  now: string,
): LedgerRow {
  const text = evidence?.consentText ?? null;
  const hashes = { email: person.email_hash, sms: person.phone_hash, voice: person.phone_hash, push: null };
  return {
    property_id: property.id,
    id: randomUUIDv7(),
    player_id: person.player_id,
    channel: choice.channel,
    action: choice.given ? "granted" : "denied",
    consent_given: choice.given,
    consent_level: choice.given ? levelOf(choice, evidence) : "express",
    purpose: "marketing",
    consent_source: evidence?.consentSource ?? null,
    consent_text: text,
    consent_text_sha256: text === null ? null : createHash("sha256").update(text, "utf8").digest("hex"),
    consent_version: evidence?.consentVersion ?? null,
    collection_method: "import",
    jurisdiction: person.region || property.default_country,
    ip_address: null,
    user_agent: null,
    address_hash: hashes[choice.channel],
    occurred_at: choice.occurredAt ?? now,
    expires_at: null,
    ...requester,
  };
}

function levelOf({ channel }: Choice, evidence: ImportParams["consent"]): LedgerRow["consent_level"] {
  return evidence?.consentLevel ?? usualLevel(channel, evidence ?? {});
}

/** Emits the same event for each row as `consent_record` does. */
async function announce(
  { sql, property }: Context,
  ledger: readonly LedgerRow[],
  action: "granted" | "denied",
): Promise<void> {
  const rows = ledger.filter((row) => row.action === action).map(({ id }) => ({ id }));
  if (rows.length === 0) return;
  await emitMany(
    sql,
    property.id,
    `consent.${action}`,
    sql`select to_jsonb(v) as object from (
      select c.id, c.player_id, c.channel, c.action, c.consent_source, c.consent_version, c.occurred_at
      from jsonb_to_recordset(${rows}::jsonb) as d(id uuid)
      join consent_records c on c.property_id = ${property.id} and c.id = d.id) v`,
  );
}
