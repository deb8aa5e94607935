import { columnNames } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Row } from "#runtime/operation/table.ts";
import suppressions from "#tools/compliance/suppressions.table.ts";
import { addressHash } from "#tools/people/address.ts";
import type { ValidationParams } from "./validation-job.ts";
import type { AddressVerdict, Evidence } from "./verdict.ts";

/** One address of a job with its verdict. */
export interface ValidatedAddress extends Pick<Evidence, "address" | "delivered"> {
  seq: number;
  email: string;
  player_id: string | null;
  verdict: AddressVerdict;
}

interface Batch {
  jobId: string;
  params: ValidationParams;
  after: number;
  validated: readonly ValidatedAddress[];
}

/**
 * Writes a batch: verdicts, players, suppressions and progress, in the caller's one transaction. False when the job has
 * been cancelled, or the batch is already written.
 */
export async function writeVerdicts(context: Context, batch: Batch): Promise<boolean> {
  const { sql, property } = context;
  const { jobId, params, after, validated } = batch;
  const open = await sql`
    select from validation_jobs
    where property_id = ${property.id} and id = ${jobId} and status = 'processing' and judged_to = ${after}
    for update`;
  if (open.length === 0) return false;
  const rows = validated.map(({ seq, verdict }) => ({ seq, ...verdict }));
  const written = await sql<{ seq: number }[]>`
    update validation_results r set result = v.result, risk = v.risk, checks = v.checks, did_you_mean = v.did_you_mean,
      reasons = array(select jsonb_array_elements_text(v.reasons))
    from jsonb_to_recordset(${rows}::jsonb)
      as v(seq int, result text, risk text, reasons jsonb, checks jsonb, did_you_mean text)
    where r.property_id = ${property.id} and r.job_id = ${jobId} and r.seq = v.seq returning r.seq`;
  // An erased player has no row any more, so nothing is written about them.
  const there = new Set(written.map(({ seq }) => seq));
  const known = validated.filter(({ seq }) => there.has(seq));
  const updated = params.update_players ? await updatePlayers(context, known) : 0;
  if (params.suppress_undeliverable) await suppress(context, known);
  const failed = known.filter(({ verdict }) => verdict.reasons.includes("dns_timeout")).length;
  await sql`
    update validation_jobs set judged_to = ${validated.at(-1)!.seq}, processed = processed + ${known.length},
      failed = failed + ${failed}, succeeded = succeeded + ${known.length - failed}, updated_count = updated_count + ${updated}, updated_at = now()
    where property_id = ${property.id} and id = ${jobId}`;
  return true;
}

/** An unknown verdict leaves the player's known status unchanged. */
async function updatePlayers(
  { sql, property }: Context,
  validated: readonly ValidatedAddress[],
): Promise<number> {
  const known = validated
    .filter(({ address, verdict }) => address !== null && verdict.result !== "unknown")
    .map(({ address, verdict }) => ({ address, result: verdict.result }));
  if (known.length === 0) return 0;
  const { count } = await sql`
    update players p set email_status = v.result, email_validated_at = now(), updated_at = now()
    from jsonb_to_recordset(${known}::jsonb) as v(address text, result text)
    where p.property_id = ${property.id} and p.email = v.address and p.deleted_at is null and p.status <> 'erased'`;
  return count;
}

async function suppress(
  { sql, property, emit }: Context,
  validated: readonly ValidatedAddress[],
): Promise<void> {
  const dead = validated
    .filter(({ address, verdict }) => address !== null && verdict.result === "undeliverable")
    .map(({ address, player_id }) => ({
      address,
      player_id,
      hash: addressHash(property.pepper, address!).toString("hex"),
    }));
  if (dead.length === 0) return;
  const added = await sql<{ row: Row }[]>`
    with r as (
      insert into suppressions (property_id, id, channel, address, address_hash, reason, source, player_id)
      select ${property.id}, uuid_v7(), 'email', address, decode(hash, 'hex'), 'invalid', 'email_validation', player_id
      from jsonb_to_recordset(${dead}::jsonb) as d(address text, hash text, player_id uuid)
      on conflict (property_id, address_hash, channel, reason) where lifted_at is null do nothing
      returning *)
    select row_to_json(v) as row from (select ${columnNames(suppressions)} from r) v`;
  for (const { row } of added) emit("player.suppressed", row);
}
