import { createHash, randomUUIDv7 } from "node:crypto";
import type { Context } from "#runtime/operation.ts";
import { appendConsents, type LedgerRow, refreshConsents } from "#tools/consent/ledger.ts";
import type { ImportParams, Requester } from "./import-job.ts";
import type { Grant, Staged } from "./rows.ts";

type Evidence = NonNullable<ImportParams["consent"]>;

interface Person {
  row: number;
  player_id: string;
  email_hash: string | null;
  phone_hash: string | null;
  consents: Record<string, boolean>;
  region: string;
}

/**
 * Appends the grants of the written rows to the ledger, and sets these players' consents to what the ledger
 * says last: a later refusal or revocation stays, and so does any against a grant that has no date, because
 * nobody can tell which came first. Suppressions stay too. The rows' players are locked by having been written.
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
    select r.row, p.id as player_id, encode(p.email_hash, 'hex') as email_hash, encode(p.phone_hash, 'hex') as phone_hash,
      p.consents, p.region
    from import_rows r join players p on p.property_id = ${property.id} and p.id = coalesce(r.target, r.id)
    where r.verdict is null and r.row = any(${[...granting.keys()]}::int[])`;
  const [clock] = await sql<{ now: string }[]>`select clock_timestamp() as now`;
  const entries = people.flatMap((person) =>
    (granting.get(person.row) ?? [])
      .filter(({ channel, occurredAt }) => occurredAt !== null || person.consents[channel] !== false)
      .map((grant) => ledgerRow(property, evidence, requester, person, grant, clock!.now)),
  );
  if (entries.length === 0) return;
  await appendConsents(sql, entries);
  await refreshConsents(sql, property, [...new Set(entries.map((entry) => entry.player_id))]);
}

function ledgerRow(
  property: Context["property"],
  evidence: Evidence,
  requester: Requester,
  person: Person,
  grant: Grant,
  now: string,
): LedgerRow {
  const text = evidence.consentText ?? null;
  const hashes = { email: person.email_hash, sms: person.phone_hash, voice: person.phone_hash, push: null };
  return {
    property_id: property.id,
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
    jurisdiction: person.region || property.default_country,
    ip_address: null,
    user_agent: null,
    address_hash: hashes[grant.channel],
    occurred_at: grant.occurredAt ?? now,
    expires_at: null,
    ...requester,
  };
}
