import { createHash, randomUUIDv7 } from "node:crypto";
import type { Context } from "#runtime/context.ts";
import { emitMany } from "#runtime/outbox.ts";
import { appendConsents, type LedgerRow, refreshConsents } from "#tools/consent/ledger.ts";
import { barRefusing } from "./bar-refusing.ts";
import { type Choice, refuses } from "./choices.ts";
import { type ImportParams, MATCH_KEYS, type Requester } from "./import-job.ts";
import type { Staged } from "./rows.ts";
import { matches } from "./verdicts.ts";

interface Person {
  row: number;
  player_id: string;
  email_hash: string | null;
  phone_hash: string | null;
  consents: Record<string, boolean>;
  region: string;
}

interface Said {
  person: Person;
  choice: Choice;
}

/**
 * Appends what the rows say of consent to the ledger, and sets these players' consents to what the ledger says
 * last. Grants are those of the written rows: a later refusal or revocation stays, and so does any against a grant
 * that has no date, because nobody can tell which came first. A refusal counts in rows that write nothing else,
 * too: of players whom the import leaves alone, and in `flawed` ones, which something else is wrong with; of somebody
 * whom nobody knows it bars the row's address.
 */
export async function writeConsents(
  context: Context,
  evidence: ImportParams["consent"],
  requester: Requester,
  rows: readonly Staged[],
  flawed: readonly Staged[],
): Promise<void> {
  const { sql, property } = context;
  const choices = new Map(
    [...rows, ...flawed].flatMap((row) => (row.choices.length > 0 ? [[row.row, row.choices] as const] : [])),
  );
  if (choices.size === 0) return;
  const written = rows.length > 0 ? await writtenPeople(context, [...choices.keys()]) : [];
  const others = await otherPeople(context, rows, flawed);
  const known = new Set(others.map(({ row }) => row));
  await barRefusing(
    context,
    flawed.filter((one) => refuses(one) && !known.has(one.row)),
  );
  const said = [
    ...written.flatMap((person) => saidBy(person, choices)),
    ...others.flatMap((person) => saidBy(person, choices)).filter(({ choice }) => !choice.given),
  ];
  const entries = await newEntries(context, said);
  if (entries.length === 0) return;
  const [clock] = await sql<{ now: string }[]>`select clock_timestamp() as now`;
  const ledger = entries.map((one) => ledgerRow(property, evidence, requester, one, clock!.now));
  await appendConsents(sql, ledger);
  await refreshConsents(sql, property, [...new Set(ledger.map((entry) => entry.player_id))]);
  await announce(context, ledger);
}

function saidBy(person: Person, choices: ReadonlyMap<number, readonly Choice[]>): Said[] {
  return (choices.get(person.row) ?? []).map((choice) => ({ person, choice }));
}

/** The players of written rows, who are locked by having been written. */
async function writtenPeople({ sql, property }: Context, rows: number[]): Promise<Person[]> {
  return await sql<Person[]>`
    ${own({ sql, property })}
    select r.row, p.*
    from own cross join import_rows r cross join lateral (
      select ${personOf({ sql })} from players p
      where p.property_id = own.property_id and p.id = r.player offset 0) p
    where r.verdict is null and r.row = any(${rows}::int[])`;
}

/** The players of rows that refuse and are not written, whom this locks. */
async function otherPeople(
  context: Context,
  rows: readonly Staged[],
  flawed: readonly Staged[],
): Promise<Person[]> {
  const { sql, property } = context;
  const meant: { row: number; id: string }[] = [];
  if (rows.some(refuses)) {
    const left = await sql<{ row: number; id: string }[]>`
      ${own({ sql, property })}
      select row, target as id from import_rows
      where verdict in ('skip', 'duplicate_in_file', 'type_mismatch') and target is not null
      union all
      select r.row, p.id
      from own cross join import_rows r cross join lateral (
        select id from players
        where property_id = own.property_id and player_id = r.player_id and deleted_at is null offset 0) p
      where r.verdict = 'conflict'`;
    meant.push(...left);
  }
  if (flawed.length > 0) {
    // A player_id is one person's, whatever the row is matched by.
    const asked = flawed.flatMap(({ row, matchOn, values: { player_id, email, phone } }) =>
      [...new Set([matchOn, ...(player_id ? (["player_id"] as const) : [])])].map((match_on) => ({
        ...{ row, match_on, player_id, email, phone },
      })),
    );
    const named = await sql<{ row: number; id: string }[]>`
      select r.row, p.id
      from jsonb_to_recordset(${asked as never}::jsonb)
        as r(row int, match_on text, player_id text, email text, phone text)
      cross join lateral (${matches(context, MATCH_KEYS)}) p`;
    meant.push(...named);
  }
  if (meant.length === 0) return [];
  return await sql<Person[]>`
    ${own({ sql, property })}
    select m.row, p.*
    from own cross join (select * from jsonb_to_recordset(${meant as never}::jsonb) as m(row int, id uuid) order by id) m
    cross join lateral (
      select ${personOf({ sql })} from players p
      where p.property_id = own.property_id and p.id = m.id and p.status <> 'erased' offset 0 for update) p`;
}

/**
 * A CTE that keeps from the planner which property it is. One that its statistics do not know yet would have one
 * player, whom any index finds; what is read for each row goes by the index that names the row's.
 */
function own({ sql, property }: Pick<Context, "sql" | "property">) {
  return sql`with own as materialized (select ${property.id}::uuid as property_id)`;
}

function personOf({ sql }: Pick<Context, "sql">) {
  return sql`p.id as player_id, encode(p.email_hash, 'hex') as email_hash, encode(p.phone_hash, 'hex') as phone_hash,
    p.consents, p.region`;
}

/** Of what was said, what the ledger does not say yet. */
async function newEntries(context: Context, said: readonly Said[]): Promise<Said[]> {
  const refused = new Map<string, Said>();
  const latest = new Map<string, number>();
  for (const one of said) {
    if (one.choice.given) continue;
    refused.set(`${keyOf(one)} ${one.choice.occurredAt}`, one);
    latest.set(keyOf(one), Math.max(timeOf(one.choice), latest.get(keyOf(one)) ?? -Infinity));
  }
  const known = await knownRefusals(context, [...refused.values()]);
  const isStanding = ({ person, choice }: Said) => person.consents[choice.channel] === false;
  return [
    ...said.filter(
      (one) =>
        one.choice.given &&
        (one.choice.occurredAt !== null || !isStanding(one)) &&
        timeOf(one.choice) > (latest.get(keyOf(one)) ?? -Infinity),
    ),
    ...[...refused.values()].filter((one) =>
      one.choice.occurredAt === null ? !isStanding(one) : !known.has(one),
    ),
  ];
}

function keyOf({ person, choice }: Said): string {
  return `${person.player_id} ${choice.channel}`;
}

/** Of two choices that have no date neither is the later one. */
function timeOf({ occurredAt }: Choice): number {
  return occurredAt === null ? Number.MAX_VALUE : Date.parse(occurredAt);
}

/** Dated refusals that the ledger has from an import before. */
async function knownRefusals({ sql, property }: Context, refused: readonly Said[]): Promise<Set<Said>> {
  const asked = refused.flatMap(({ person, choice }, place) =>
    choice.occurredAt === null
      ? []
      : [{ place, id: person.player_id, channel: choice.channel, at: choice.occurredAt }],
  );
  if (asked.length === 0) return new Set();
  const found = await sql<{ place: number }[]>`
    select distinct a.place
    from jsonb_to_recordset(${asked as never}::jsonb) as a(place int, id uuid, channel text, at timestamptz)
    join consent_records c on c.property_id = ${property.id} and c.player_id = a.id and c.channel = a.channel
      and c.occurred_at = a.at and c.action = 'denied' and c.collection_method = 'import'`;
  return new Set(found.map(({ place }) => refused[place]!));
}

function ledgerRow(
  property: Context["property"],
  evidence: ImportParams["consent"],
  requester: Requester,
  { person, choice }: Said,
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
    consent_level: "express",
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

/** As `consent_record` tells of each refusal. */
async function announce({ sql, property }: Context, ledger: readonly LedgerRow[]): Promise<void> {
  const denied = ledger.filter(({ consent_given: given }) => !given).map(({ id }) => ({ id }));
  if (denied.length === 0) return;
  await emitMany(
    sql,
    property.id,
    "consent.denied",
    sql`select to_jsonb(v) as object from (
      select c.id, c.player_id, c.channel, c.action, c.consent_source, c.consent_version, c.occurred_at
      from jsonb_to_recordset(${denied as never}::jsonb) as d(id uuid)
      join consent_records c on c.property_id = ${property.id} and c.id = d.id) v`,
  );
}
