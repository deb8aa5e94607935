import type { Last, Sql } from "#db/database.ts";
import type { Fragment } from "#db/sql.ts";
import type { Context, Question } from "#runtime/operation/context.ts";
import { type AuditRow, auditedRows, type OwnedAuditRow } from "./audit.ts";
import { type Answer, type Keyed, type RecordedAnswer, recordedAnswers } from "./idempotency.ts";
import { effectStatements, type PendingEffects, pendingEffects } from "./outbox.ts";
import type { Run } from "./transact.ts";

export interface Effects extends PendingEffects {
  /** Whether an error of the last statements says that the call has read what is no longer so. */
  isStale(error: unknown): boolean;
  /** The cursor of the list's next page. */
  nextCursor: string | null;
  questions: Question[];
  /** The state that an agent has confirmed; null where nothing was asked. */
  confirmed?: string | null;
  /** The number of rows of a list. */
  total: number | null;
  warnings: string[];
  /** The subject of the audit row of the current input. */
  about: Parameters<Context["audit"]>[0];
  /** The audit rows of calls that this one has carried out. */
  carried: AuditRow[];
}

/** One call inside its transaction. */
export interface Running extends Run {
  effects: Effects;
  keyed: Keyed | null;
  sql: Sql;
  /** The call has read what was no longer so, and runs once more. */
  isAgain: boolean;
  last: Last;
}

/** A call's result, and its audit rows. */
export interface Handled {
  result: unknown;
  audited: AuditRow[];
}

export function noEffects(): Effects {
  return {
    ...pendingEffects(),
    isStale: () => false,
    nextCursor: null,
    questions: [],
    total: null,
    warnings: [],
    about: {},
    carried: [],
  };
}

interface Writes extends Pick<PendingEffects, "events" | "jobs"> {
  /** The answer to record under the call's key. */
  answer?: Answer;
  audited: AuditRow[];
}

/** Writes events, jobs, the recorded answer and audit rows in the round trip of the commit. */
export function writeLast(running: Running, { events, jobs, answer, audited }: Writes): void {
  const { operation, property, effects, keyed, last } = running;
  const subject = effects.about.propertyId ?? property?.id ?? null;
  last(written, {
    property: property?.id ?? subject,
    effects,
    events,
    jobs,
    answers: keyed && answer ? [{ ...keyed, ...answer, operation: operation.name }] : [],
    audited: audited.map((row) => ({ ...row, property_id: subject })),
  });
}

interface Written extends Pick<PendingEffects, "events" | "jobs"> {
  property: string | null;
  effects: Effects;
  answers: RecordedAnswer[];
  audited: OwnedAuditRow[];
}

/** The statements that write the effects of calls in one property. */
async function written(calls: Written[], sql: Sql): Promise<Fragment[]> {
  const events = calls.flatMap((call) => call.events);
  const jobs = calls.flatMap((call) => call.jobs);
  const answers = calls.flatMap((call) => call.answers);
  const audited = calls.flatMap((call) => call.audited);
  const { statements, queued } = await effectStatements(sql, calls[0]!.property, { events, jobs });
  for (const { effects } of calls) effects.queued = queued;
  return [
    ...statements,
    ...(answers.length > 0 ? [recordedAnswers(answers)] : []),
    ...(audited.length > 0 ? [auditedRows(audited)] : []),
  ];
}
