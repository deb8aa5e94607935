import { semaphore } from "#db/semaphore.ts";
import { literals } from "#db/sql.ts";
import { askMailbox, type Mailbox, ValidationRefused } from "#runtime/channels/validation/mailgun.ts";
import type { MailDomain } from "#runtime/network/mail-domains.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { endJob, OPEN_JOBS, transactAgain } from "#tools/jobs/async-job.ts";
import { normalizeEmail } from "#tools/people/address.ts";
import { addressesOf, TOO_MANY } from "./gathering.ts";
import { forgetErased, MOST_ADDRESSES, ValidateEmails, type ValidationParams } from "./validation-job.ts";
import validationJobs from "./validation-jobs.table.ts";
import { type Evidence, isOpen, verdictOf } from "./verdict.ts";
import { type ValidatedAddress, writeVerdicts } from "./write-verdicts.ts";

/** Addresses that are looked up and then written in one transaction. */
const BATCH = 500;

type Opened = Pick<RowOf<typeof validationJobs.columns>, "status"> & { params: ValidationParams };

export default job({
  ...ValidateEmails,
  async handler(context, { jobId }) {
    try {
      if (await context.transact((inner) => open(inner, jobId))) await run(context, jobId);
    } catch (error) {
      const isRefused = error instanceof ValidationRefused;
      if (context.signal.aborted || !(context.isLast || isRefused)) throw error;
      const gone = { error: isRefused ? error.message : "The addresses could not be validated." };
      await context.transact((inner) => endJob(inner, validationJobs, jobId, gone));
      if (!isRefused) throw error;
    }
  },
});

/** Starts the job, and gathers its addresses. False when it has ended. */
async function open(context: Context, jobId: string): Promise<boolean> {
  const { sql, property } = context;
  const [found] = await sql<Opened[]>`
    select params, status from validation_jobs
    where property_id = ${property.id} and id = ${jobId} and status in (${literals(OPEN_JOBS)}) for update`;
  if (!found) return false;
  if (found.status === "processing") return true;
  const { source, segment_id: segmentId } = found.params;
  const total =
    source === "segment_id" || source === "all_players" ? await gather(context, jobId, segmentId) : null;
  if (total !== null && total > MOST_ADDRESSES) {
    await sql`delete from validation_results where property_id = ${property.id} and job_id = ${jobId}`;
    await endJob(context, validationJobs, jobId, { error: TOO_MANY });
    return false;
  }
  await sql`
    update validation_jobs set status = 'processing', started_at = now(), total = coalesce(${total}::int, total), updated_at = now()
    where property_id = ${property.id} and id = ${jobId}`;
  return true;
}

/**
 * Stores the addresses of a segment's players, or of all, each once. Answers their number, which may exceed the limit
 * by one.
 */
async function gather(
  { sql, property }: Context,
  jobId: string,
  segmentId: string | undefined,
): Promise<number> {
  const addresses = await addressesOf({ sql, property }, segmentId);
  const [gathered] = await sql<{ count: number }[]>`
    with gathered as (
      insert into validation_results (property_id, job_id, seq, email, player_id)
      select ${property.id}::uuid, ${jobId}::uuid, row_number() over (order by id), email, id from (${addresses}) a
      returning 1)
    select count(*)::int as count from gathered`;
  return gathered!.count - (await forgetErased({ sql, property }, jobId));
}

async function run(context: JobContext, jobId: string): Promise<void> {
  for (;;) {
    context.signal.throwIfAborted();
    const batch = await context.transact((inner) => nextBatch(inner, jobId));
    if (!batch) return;
    if (batch.rows.length === 0) break;
    const asks = batch.params.level !== "syntax";
    const domains = asks ? await domainsOf(context, batch.rows) : new Map<string, MailDomain>();
    const known = batch.rows.map((row) => {
      const domain = row.address === null ? null : (domains.get(domainOf(row.address)) ?? null);
      return { ...row, domain };
    });
    const mailboxes = batch.params.level === "full" ? await mailboxesOf(context, known) : NONE;
    const validated = known.map(({ domain, ...row }): ValidatedAddress => {
      const mailbox = mailboxes.get(row.address ?? "") ?? null;
      return { ...row, verdict: verdictOf({ ...row, domain, mailbox }) };
    });
    const { params, after } = batch;
    if (!(await transactAgain(context, (inner) => writeVerdicts(inner, { jobId, params, after, validated }))))
      return;
  }
  await context.transact((inner) => complete(inner, jobId));
}

type Waiting = Omit<ValidatedAddress, "verdict">;

interface Batch {
  params: ValidationParams;
  /** The last address before this batch. */
  after: number;
  rows: Waiting[];
}

/** The next addresses, with the outcomes of this property's own messages to them. Null when the job has ended. */
async function nextBatch({ sql, property }: Context, jobId: string): Promise<Batch | null> {
  const [found] = await sql<{ params: ValidationParams; judged_to: number }[]>`
    select params, judged_to from validation_jobs
    where property_id = ${property.id} and id = ${jobId} and status = 'processing'`;
  if (!found) return null;
  const rows = await sql<
    (Omit<Waiting, "address" | "delivered"> & { bounced: boolean; delivered: boolean })[]
  >`
    select r.seq, r.email, r.player_id,
      exists (select from players p join suppressions s on s.property_id = ${property.id}
          and s.address_hash = p.email_hash and s.reason = 'hard_bounce' and s.lifted_at is null
        where p.property_id = ${property.id} and p.id = r.player_id and p.email = r.email) as bounced,
      exists (select from players p join campaign_sends c on c.property_id = ${property.id}
          and c.player_id = p.id and c.address_hash = p.email_hash and c.channel = 'email'
          and c.delivered_at > now() - interval '180 days'
        where p.property_id = ${property.id} and p.id = r.player_id and p.email = r.email) as delivered
    from validation_results r
    where r.property_id = ${property.id} and r.job_id = ${jobId} and r.seq > ${found.judged_to}
    order by r.seq limit ${BATCH}`;
  const waiting = rows.map(
    ({ bounced, delivered, ...row }): Waiting => ({
      ...row,
      address: normalizeEmail(row.email),
      delivered: bounced ? "bounced" : delivered ? "yes" : null,
    }),
  );
  return { params: found.params, after: found.judged_to, rows: waiting };
}

/** The DNS answers for the addresses' domains, each looked up once. Throws when the worker must stop. */
async function domainsOf(
  { runtime, signal }: JobContext,
  rows: readonly Waiting[],
): Promise<Map<string, MailDomain>> {
  const names = [...new Set(rows.flatMap(({ address }) => (address === null ? [] : [domainOf(address)])))];
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop);
  try {
    const looking = names.map(async (name) => [name, await runtime.mailDomains.look(name)] as const);
    return new Map(await Promise.race([Promise.all(looking), stopped.promise]));
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const NONE: ReadonlyMap<string, Mailbox> = new Map();
/** Calls of the validation provider at once. */
const ASKED_AT_ONCE = 10;

/** The provider's answers for the mailboxes of which nothing else tells enough, each asked once. */
async function mailboxesOf(
  { config, signal }: JobContext,
  rows: readonly Evidence[],
): Promise<ReadonlyMap<string, Mailbox>> {
  const api = config.validation;
  if (!api) throw new ValidationRefused("No validation provider is configured any more.");
  const addresses = [...new Set(rows.filter(isOpen).map(({ address }) => address!))];
  const inTurn = semaphore(ASKED_AT_ONCE);
  // After one failure the others would be asked, and paid for, in vain.
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const ask = async (address: string) => {
    stop.throwIfAborted();
    return [address, await askMailbox(api, address)] as const;
  };
  try {
    return new Map(await Promise.all(addresses.map((address) => inTurn(() => ask(address)))));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

async function complete(context: Context, jobId: string): Promise<void> {
  const { sql, property } = context;
  const counts = await sql<{ result: string; count: number }[]>`
    select result, count(*)::int as count from validation_results
    where property_id = ${property.id} and job_id = ${jobId} group by result`;
  const none = { deliverable: 0, risky: 0, undeliverable: 0, unknown: 0 };
  const summary = { ...none, ...Object.fromEntries(counts.map(({ result, count }) => [result, count])) };
  await endJob(context, validationJobs, jobId, { summary });
}
