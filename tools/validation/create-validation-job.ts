import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { insert, update } from "#runtime/operation/rows.ts";
import type { Row } from "#runtime/operation/table.ts";
import { statusUrl } from "#tools/jobs/async-job.ts";
import { addressHash, normalizeEmail } from "#tools/people/address.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { addressesOf, TOO_MANY } from "./gathering.ts";
import {
  forgetErased,
  MOST_ADDRESSES,
  MOST_BYTES,
  settings,
  ValidateEmails,
  type ValidationParams,
} from "./validation-job.ts";
import validationJobs from "./validation-jobs.table.ts";

export default tool({
  name: "create_validation_job",
  title: "Validate email addresses",
  description:
    "Starts checking email addresses, given ones or players', and answers at once. Poll get_validation_job until it has ended, then call list_validation_results. undeliverable is certain: the address is invalid, its domain takes no mail, or it bounced. deliverable needs proof, a delivered message of this property; without it a good address is unknown with risk low. With dry_run the answer only counts the addresses in total.",
  scope: "write",
  effect: "change",
  bulk: true,
  input: {
    dry_run: z.boolean().default(false).describe("Only counts the addresses, in total; checks none"),
    type: z.literal("email_validation").default("email_validation").describe("The only supported kind"),
    emails: z
      .array(z.string().max(320))
      .min(1)
      .max(MOST_ADDRESSES)
      .optional()
      .describe("Addresses. Give exactly one of emails, segment_id, player_ids and all_players"),
    segment_id: z.uuid().optional().describe("The players of a segment, from list_segments"),
    player_ids: z.array(z.uuid()).min(1).max(MOST_ADDRESSES).optional().describe("From list_players"),
    all_players: z.literal(true).optional().describe("All players who have an email"),
    ...settings,
  },
  output: viewOf(validationJobs),
  status: 202,
  mostBytes: MOST_BYTES,
  deadline: 60_000,
  faults: ["invalid", "not_found"],
  crud: { table: validationJobs, verb: "create" },
  async handler(context, { type, dry_run, emails, segment_id, player_ids, all_players, ...options }) {
    const sources = Object.entries({ emails, segment_id, player_ids, all_players });
    const [[source] = [], ...others] = sources.filter(([, given]) => given !== undefined);
    if (!source || others.length > 0) {
      throw invalid("emails", "give exactly one of emails, segment_id, player_ids and all_players");
    }
    if (options.level === "full" && !context.config.validation) {
      throw invalid(
        "level",
        "full needs a validation provider, and none is configured (VALIDATION_KEY); use dns",
      );
    }
    if (segment_id && !dry_run) await audienceOf(context.sql, context.property.id, segment_id);
    const params = { ...options, source, ...(segment_id && { segment_id }) } as ValidationParams;
    const rows = emails ? rowsOf(emails) : player_ids ? await rowsOfPlayers(context, player_ids) : null;
    const id = randomUUIDv7();
    const url = statusUrl(context, validationJobs, id);
    const addresses = { status_url: url, result_url: `${url}/results` };
    const queued = await insert(context, validationJobs, { id, type, params, ...addresses });
    context.enqueue(ValidateEmails, { jobId: id });
    if (!rows) {
      return dry_run
        ? counted(context, { ...queued, total: await countPlayers(context, segment_id) })
        : queued;
    }
    const total = await insertRows(context, id, rows);
    const skipped = (emails ?? player_ids)!.length - total;
    const job = await update(context, validationJobs, id, { total, skipped });
    return dry_run ? counted(context, job) : job;
  },
});

/** The answer of a dry run: there is no job to poll, so it has ended, and the addresses are those of all jobs. */
function counted({ config }: Context, job: Row): Row {
  const all = `${config.baseUrl}/api/${validationJobs.name}`;
  return { ...job, status: "completed", status_url: all, result_url: all };
}

interface Address {
  email: string;
  player_id: string | null;
}

/** Each address once, in its stored form if it has one. */
function rowsOf(emails: readonly string[]): Address[] {
  const distinct = new Set(emails.map((email) => normalizeEmail(email) ?? email.trim()));
  return [...distinct].map((email) => ({ email, player_id: null }));
}

async function rowsOfPlayers({ sql, property }: Context, ids: readonly string[]): Promise<Address[]> {
  const distinct = [...new Set(ids.map((id) => id.toLowerCase()))];
  const players = await sql<{ id: string; email: string | null }[]>`
    select p.id, p.email from unnest(${distinct}::uuid[]) w (id)
      join players p on p.property_id = ${property.id} and p.id = w.id
    where p.deleted_at is null`;
  if (players.length < distinct.length) {
    const found = new Set(players.map(({ id }) => id));
    const missing = distinct.find((id) => !found.has(id));
    throw new Fault("not_found", {
      message: `player_ids: no player with the id ${missing} in this property.`,
    });
  }
  const byEmail = new Map(players.flatMap(({ id, email }) => (email === null ? [] : [[email, id] as const])));
  return [...byEmail].map(([email, player_id]) => ({ email, player_id }));
}

/** The number of addresses for the job. Throws `invalid` when that exceeds the limit. */
async function countPlayers({ sql, property }: Context, segmentId: string | undefined): Promise<number> {
  const addresses = await addressesOf({ sql, property }, segmentId);
  const [found] = await sql<{ count: number }[]>`select count(*)::int as count from (${addresses}) a`;
  if (found!.count > MOST_ADDRESSES) throw invalid(segmentId ? "segment_id" : "all_players", TOO_MANY);
  return found!.count;
}

/** Stores all players but erased ones. Answers their number. */
async function insertRows({ sql, property }: Context, jobId: string, rows: Address[]): Promise<number> {
  const given = rows.map(({ email, player_id }, index) => ({
    email,
    player_id,
    seq: index + 1,
    hash: addressHash(property.pepper, email).toString("hex"),
  }));
  const kept = await sql`
    with given as materialized (
      select email, player_id, seq, decode(hash, 'hex') as hash
      from jsonb_to_recordset(${given}::jsonb) as r(email text, player_id uuid, seq int, hash text)
    )
    insert into validation_results (property_id, job_id, seq, email, player_id)
    select ${property.id}, ${jobId}, w.seq, w.email, coalesce(w.player_id, (
      select p.id from players p
      where p.property_id = ${property.id} and p.email = w.email and p.deleted_at is null order by p.id limit 1))
    from given w
    where not exists (
      select from suppressions s
      where s.property_id = ${property.id} and s.address_hash = w.hash and s.reason = 'erased'
        and s.lifted_at is null)
    returning 1`;
  return kept.count - (await forgetErased({ sql, property }, jobId));
}
