import { randomUUID } from "node:crypto";
import type { Context } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { flush, type PendingEvent, type PendingJob } from "./outbox.ts";
import type { Service } from "./service.ts";

/**
 * One transaction of the service itself in a property, with its events and jobs: for counters, and for vendors'
 * notices. Operations go through `invoke`, because this writes no audit row.
 */
export async function writeAsService<T>(
  service: Service,
  property: Property,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const { db, directory, config, log, sessions, wake } = service;
  const events: PendingEvent[] = [];
  const jobs: PendingJob[] = [];
  const rest: Omit<Context, "sql"> = {
    property,
    call: { actor: { type: "system", id: null }, transport: "page", requestId: randomUUID() },
    config,
    log,
    now: directory.now,
    issueToken: sessions.issue,
    signDetached: sessions.signDetached,
    emit: (type, object, previous) => void events.push({ type, object, previous }),
    enqueue: (job, input, options) =>
      void jobs.push({ name: job.name, attempts: job.attempts, input: job.input.parse(input), ...options }),
    audit: () => {},
  };
  const value = await db.asProperty(property.id, async (sql, last) => {
    const done = await work({ sql, ...rest });
    if (events.length > 0 || jobs.length > 0) last(flush(sql, property.id, events, jobs));
    return done;
  });
  if (events.length > 0 || jobs.length > 0) wake();
  return value;
}
