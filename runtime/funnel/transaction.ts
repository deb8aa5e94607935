import type { Last, Sql, TransactionOptions, Work } from "#db/database.ts";
import type { Fragment } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import { invalid } from "#runtime/faults.ts";
import type { Call, Context, Question } from "#runtime/operation/context.ts";
import { canBeTried, type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { callerOf } from "./access.ts";
import { type AuditRow, auditedRows, type OwnedAuditRow } from "./audit.ts";
import { type Answer, type Keyed, type RecordedAnswer, recordedAnswers } from "./idempotency.ts";
import { effectStatements, type PendingEffects, pendingEffects } from "./outbox.ts";
import type { Choose, Outcome, Service } from "./service.ts";

/** One call, its inputs parsed. */
export interface Run {
  service: Service;
  operation: Operation;
  call: Call;
  property: Property | null;
  inputs: Record<string, unknown>[];
  many?: boolean | undefined;
  choose?: Choose | undefined;
  dry?: boolean | undefined;
}

/** Null for a call without a key, and for public operations: anonymous callers would share their keys. */
export function keyedCall({ operation, call, property }: Omit<Run, "inputs">): Keyed | null {
  const { idempotency } = call;
  if (!idempotency || !recordsAnswer(operation) || operation.access === "public") return null;
  return { scope: scopeOf(call, property), ...idempotency };
}

/** The owner of a key or a token: the property, or the user where the operation has no property. */
export function scopeOf({ actor }: Call, property: Property | null): string {
  return property?.id ?? actor.id ?? NIL_UUID;
}

/** The transaction of a whole call: after its table's lock, and shared with such calls where the operation allows it. */
export function transactCall<T>(
  call: Run,
  work: Work<T>,
  { deadline, isAgain }: { deadline: number; isAgain: boolean },
): Promise<T> {
  const { table, verb } = call.operation.crud ?? {};
  const lock = verb === "create" || verb === "update" ? table?.lock?.(call.property!.id) : undefined;
  return transact(call, work, {
    ...(lock && { before: [lock] }),
    // A call that has failed beside others runs alone.
    group: !isAgain && doesNoMore(call) && groupOf(call),
    deadline,
  });
}

function groupOf({ operation: { crud, sharing }, inputs }: Run) {
  if (sharing) return sharing(inputs[0]! as never);
  return crud?.verb === "create" && crud.table.groupCommit === true;
}

/** Whether the call does one thing and no more: it sets no savepoint, and its answer is not rolled back. */
export function doesNoMore({ operation, call, many, choose, inputs, dry }: Run): boolean {
  return !(many || choose || call.mustAsk || call.review || isDry({ operation, inputs, dry }));
}

/** Whether the answer tells the handler's questions: of a call that has to ask first, and of an agent's preview. */
export function tellsQuestions({ operation, call }: Pick<Run, "operation" | "call">): boolean {
  return call.mustAsk === true || (call.transport === "mcp" && operation.effect === "read");
}

/** One transaction of a call: as its tenant, or over the platform's own tables. */
export function transact<T>(
  { service, operation, call, property }: Omit<Run, "inputs">,
  work: Work<T>,
  opening: Pick<TransactionOptions, "before" | "group" | "deadline"> = {},
): Promise<T> {
  const tenant = operation.realm === "property";
  const { deadline, discarded } = operation;
  const writes = writesRows(operation);
  const options = {
    readOnly: !writes && !discarded,
    ...(writes && { caller: callerOf(call) }),
    ...(deadline && { deadline }),
    ...opening,
  };
  return tenant ? service.db.asProperty(property!.id, work, options) : service.db.asSystem(work, options);
}

export function writesRows({ effect, recorded }: Operation): boolean {
  return effect !== "read" || recorded;
}

export interface Effects extends PendingEffects {
  /** Whether an error of the last statements says that the call has read what is no longer so. */
  isStale(error: unknown): boolean;
  /** The cursor of the list's next page. */
  nextCursor: string | null;
  questions: Question[];
  /** The state that an agent has confirmed; null where nothing was asked. */
  confirmed?: string | null;
  /** The audiences that a person was shown before this call, by the number of the question. */
  shown: readonly (number | null)[];
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
  /** The call runs once more: it had read what was no longer so, or waited in a circle with others. */
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
    shown: [],
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

/**
 * Rolls a call's transaction back, and carries the answer that is given all the same: a dry run's, or a recorded one.
 */
export class Undone extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super("the call is rolled back, and answered all the same");
    this.outcome = outcome;
  }
}

/** Whether the call is rolled back: `dry` marks the whole request, or each input says `dry_run`. Throws `invalid`. */
export function isDry({
  operation,
  inputs,
  dry = false,
}: {
  operation: Operation;
  inputs: Record<string, unknown>[];
  dry?: boolean | undefined;
}): boolean {
  if (dry || !canBeTried(operation)) return dry;
  const count = inputs.filter((input) => input.dry_run === true).length;
  if (count === 0 || count === inputs.length) return count > 0;
  throw invalid("dry_run", "must be the same in all records of a request");
}

/** The answer that the call would have given, marked as a dry run. Nothing goes on behind it, so 202 becomes 200. */
export function dryOutcome({ status, secrets }: Operation, result: unknown): Outcome {
  // Null: the record would stay unchanged.
  const marked = (one: unknown) => one && { ...(without(one, secrets) as object), dry_run: true };
  const value = Array.isArray(result) ? result.map(marked) : marked(result);
  return { status: status === 202 ? 200 : status, body: JSON.stringify(value), replayed: false, dry: true };
}

/** The result without the fields that are shown once. */
export function without(result: unknown, secrets: readonly string[]): unknown {
  if (Array.isArray(result)) return result.map((one) => without(one, secrets));
  if (typeof result !== "object" || result === null) return result;
  return Object.fromEntries(Object.entries(result).filter(([key]) => !secrets.includes(key)));
}
