import { createHash, randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/client.ts";
import { recordHash } from "#runtime/audit.ts";
import type { Context } from "#runtime/operation.ts";
import { type LedgerRow, refreshConsents } from "#tools/consent/ledger.ts";
import type { ImportParams, Requester } from "./import-job.ts";
import type { Grant, Staged } from "./rows.ts";

type Evidence = NonNullable<ImportParams["consent"]>;

interface Person {
  row: number;
  player_id: string;
  email_hash: string | null;
  phone_hash: string | null;
}

/**
 * Appends the grants of the written rows to the ledger, and sets these players' consents to what the ledger
 * says last: a later revocation stays. Suppressions stay too. The rows' players are locked by having been written.
 */
export async function writeGrants(
  { sql, property }: Context,
  evidence: Evidence,
  requester: Requester,
  rows: readonly Staged[],
): Promise<void> {
  const granting = new Map(
    rows.flatMap((row) => (row.grants.length > 0 ? [[row.row, row.grants] as const] : [])),
  );
  if (granting.size === 0) return;
  const people = await sql<Person[]>`
    select r.row, p.id as player_id, encode(p.email_hash, 'hex') as email_hash, encode(p.phone_hash, 'hex') as phone_hash
    from import_rows r join players p on p.property_id = ${property.id} and p.id = coalesce(r.target, r.id)
    where r.verdict is null and r.row = any(${[...granting.keys()]}::int[])`;
  const [clock] = await sql<{ now: string }[]>`select clock_timestamp() as now`;
  const entries = people.flatMap((person) =>
    (granting.get(person.row) ?? []).map((grant) =>
      ledgerRow(property.id, evidence, requester, person, grant, clock!.now),
    ),
  );
  if (entries.length === 0) return;
  await append(sql, entries);
  await refreshConsents(sql, property, [...new Set(entries.map((entry) => entry.player_id))]);
}

function ledgerRow(
  propertyId: string,
  evidence: Evidence,
  requester: Requester,
  person: Person,
  grant: Grant,
  now: string,
): LedgerRow {
  const text = evidence.consentText ?? null;
  const hashes = { email: person.email_hash, sms: person.phone_hash, voice: person.phone_hash, push: null };
  return {
    property_id: propertyId,
    id: randomUUIDv7(),
    player_id: person.player_id,
    channel: grant.channel,
    action: "granted",
    consent_given: true,
    consent_level: "express",
    purpose: "marketing",
    consent_source: evidence.consentSource,
    consent_text: text,
    consent_text_sha256: text === null ? null : createHash("sha256").update(text, "utf8").digest("hex"),
    consent_version: evidence.consentVersion ?? null,
    collection_method: "import",
    jurisdiction: null,
    ip_address: null,
    user_agent: null,
    address_hash: hashes[grant.channel],
    // As PostgreSQL prints it, which is what the record's hash is over.
    occurred_at: grant.occurredAt === null ? now : `${grant.occurredAt.replace(/\.?0*Z$/, "")}+00:00`,
    expires_at: null,
    ...requester,
  };
}

async function append(sql: Sql, entries: readonly LedgerRow[]): Promise<void> {
  const sealed = entries.map((entry) => ({ ...entry, record_hash: recordHash(entry).toString("hex") }));
  await sql`
    insert into consent_records (property_id, id, player_id, channel, action, consent_given, consent_level, purpose,
      consent_source, consent_text, consent_text_sha256, consent_version, collection_method, address_hash,
      occurred_at, actor_type, actor_id, record_hash)
    select property_id, id, player_id, channel, action, consent_given, consent_level, purpose, consent_source,
      consent_text, consent_text_sha256, consent_version, collection_method, decode(address_hash, 'hex'),
      occurred_at, actor_type, actor_id, decode(record_hash, 'hex')
    from jsonb_to_recordset(${sealed as never}::jsonb) as r(property_id uuid, id uuid, player_id uuid, channel text,
      action text, consent_given boolean, consent_level text, purpose text, consent_source text, consent_text text,
      consent_text_sha256 text, consent_version text, collection_method text, address_hash text,
      occurred_at timestamptz, actor_type text, actor_id uuid, record_hash text)`;
}
