import type { Sql } from "#db/database.ts";
import type { Channels } from "#runtime/channels/index.ts";
import type { Config } from "#runtime/config.ts";
import type { Log } from "#runtime/log.ts";
import type { MailDomains } from "#runtime/network/mail-domains.ts";
import type { Outgoing } from "#runtime/network/outgoing.ts";
import type { Context, JobReference } from "./context.ts";

export interface JobContext {
  jobId: string;
  attempt: number;
  /** The last attempt: a failure now is final. */
  isLast: boolean;
  propertyId: string | null;
  signal: AbortSignal;
  config: Config;
  log: Log;
  runtime: JobRuntime;
  /**
   * One transaction of the tenant, refused when another worker has this job's lease. `startedAt`: performance.now()
   * before it began, and after the wait for its turn among the jobs.
   */
  transact<T>(work: (context: Context, startedAt: number) => Promise<T>): Promise<T>;
  /** One transaction over the platform's tables, under the same lease. */
  transactSystem<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** The means of jobs beyond the database. The composition root fills it. */
export interface JobRuntime {
  outgoing: Outgoing;
  /** Opens the provider that a job has chosen; `store` stores the mailbox provider's messages. */
  open: Channels["open"];
  /** Runs an operation of the catalog in a property, as the service itself. */
  run(operation: string, propertyId: string, input: object): Promise<unknown>;
  /** Looks up where domains take mail. */
  mailDomains: MailDomains;
}

export interface Job<Input = never> extends JobReference<Input> {
  readonly kind: "job";
  /** A cron pattern in UTC: the job runs at each tick, once however many processes there are. */
  readonly every?: string;
  /** It reaches persons or receivers: it waits while sending is held. */
  readonly sends?: true;
  handler(context: JobContext, input: Input): Promise<void>;
}

/** Background work: one file, run by the worker under a lease. */
export function job<Input>(definition: Omit<Job<Input>, "kind">): Job<Input> {
  return { ...definition, kind: "job" };
}
