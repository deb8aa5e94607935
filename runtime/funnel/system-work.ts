import { randomUUID } from "node:crypto";
import type { Database, TransactionOptions } from "#db/database.ts";
import type { Config } from "#runtime/config.ts";
import type { Directory } from "#runtime/identity/directory.ts";
import type { Sessions } from "#runtime/identity/sessions.ts";
import type { Log } from "#runtime/log.ts";
import type { Call, Context } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { effectStatements, pendingEffects, type QueuedJob } from "./outbox.ts";
import type { Service } from "./service.ts";

/** The dependencies of a transaction that the service itself begins. */
export interface SystemWork {
  db: Database;
  config: Config;
  directory: Pick<Directory, "now">;
  sessions: Pick<Sessions, "issue" | "sessionOf" | "signDetached">;
  log: Log;
  /** Called after a commit that left jobs on the queue. */
  wake(jobs: readonly QueuedJob[]): void;
}

/**
 * One transaction of the service itself in a property, with its events and jobs: for jobs, counters, and vendors'
 * notices. Operations go through `invoke`, because this writes no audit row by itself.
 */
export async function workAsSystem<T>(
  { db, config, directory, sessions, log, wake }: SystemWork,
  { property, ...about }: { property: Property } & Pick<Call, "transport" | "requestId">,
  work: (context: Context) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const effects = pendingEffects();
  const rest: Omit<Context, "sql"> = {
    property,
    call: { actor: { type: "system", id: null }, ...about },
    config,
    log,
    now: directory.now,
    issueToken: sessions.issue,
    sessionOf: sessions.sessionOf,
    signDetached: sessions.signDetached,
    emit: effects.emit,
    enqueue: effects.enqueue,
    // Only calls of operations have an audit row of their own; see `writeAuditRow`.
    audit: () => {},
  };
  const value = await db.asProperty(
    property.id,
    async (sql, last) => {
      const done = await work({ sql, ...rest });
      last(async (_, final) => {
        const { statements, queued } = await effectStatements(final, property.id, effects);
        effects.queued = queued;
        return statements;
      }, effects);
      return done;
    },
    options,
  );
  if (effects.queued.length > 0) wake(effects.queued);
  return value;
}

/** A write that a page or a vendor's notice makes. */
export function writeAsService<T>(
  service: Service,
  property: Property,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  return workAsSystem(service, { property, transport: "page", requestId: randomUUID() }, work);
}
