import { isSqlState } from "#db/connection/error-code.ts";
import { REQUEST_DEADLINE } from "#db/connection/transaction.ts";
import type { Work } from "#db/database.ts";
import type { Page } from "#db/query/reader.ts";
import { thrownAt, toFault } from "#runtime/faults.ts";
import { type Context, Stale } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { inActivity } from "#runtime/telemetry/activity.ts";
import { isWeighed } from "./access.ts";
import { type AuditRow, auditOf } from "./audit.ts";
import { carrying } from "./carry-out.ts";
import { useConfirmation } from "./confirmations.ts";
import { claimKey } from "./idempotency.ts";
import { endpointsOf } from "./outbox.ts";
import { propose } from "./propose.ts";
import { isRecorded, recordRefusal, refusalOf } from "./recorded-refusals.ts";
import { askedBy, audiencesIn, conceals, weigh } from "./review.ts";
import type { Outcome } from "./service.ts";
import {
  doesNoMore,
  dryOutcome,
  type Effects,
  type Handled,
  isDry,
  keyedCall,
  noEffects,
  type Run,
  type Running,
  tellsQuestions,
  transactCall,
  Undone,
  without,
  writeLast,
  writesRows,
} from "./transaction.ts";

/** Runs a call in its one transaction: all of the handler, outbox, queue, audit and recorded answer, or nothing. */
export async function run(given: Run): Promise<Outcome> {
  const call = isWeighed(given) ? { ...given, call: { ...given.call, review: "weighed" as const } } : given;
  let effects = noEffects();
  // A rolled-back call leaves no answer for later.
  const keyed = isDry(call) ? null : keyedCall(call);
  const { deadline = REQUEST_DEADLINE } = call.operation;
  const startedAt = performance.now();
  // A transaction that failed for another call runs it again, for as long as the call may take.
  const attempt = (isAgain: boolean, left: number): Promise<Outcome> => {
    const work: Work<Outcome> = inActivity((sql, last) => {
      effects = noEffects();
      return answer({ ...call, effects, keyed, sql, last, isAgain });
    });
    return transactCall(call, work, { deadline: left, isAgain }).catch((error: unknown) => {
      const rest = startedAt + deadline - performance.now();
      if (rest > 0 && failedForAnother(error, effects)) return attempt(true, rest);
      throw error;
    });
  };
  const outcome = await attempt(false, deadline).catch((error: unknown) => {
    if (error instanceof Undone) return error.outcome;
    if (keyed) return recordRefusal(call, keyed, error);
    throw error;
  });
  if (!outcome.replayed && effects.queued.length > 0) call.service.wake(effects.queued);
  if (outcome.fault) throw outcome.fault;
  return outcome;
}

/**
 * The call has read what is no longer so, or PostgreSQL has ended it as one of several that waited in a circle. Behind the
 * others it finds what they wrote.
 */
const failedForAnother = (error: unknown, { isStale }: Effects) =>
  error instanceof Stale || isStale(error) || isSqlState(error, "40P01");

/** Sends the handler's first query together with the look-up of the key; a recorded answer rolls the query back. */
async function answer(running: Running): Promise<Outcome> {
  const { operation, keyed, property, sql } = running;
  const claiming = keyed ? claimKey(sql, keyed) : null;
  if (property && emits(operation)) void endpointsOf(sql, property.id);
  const [claimed, handled] = await Promise.allSettled([claiming, handle(running)]);
  if (claimed.status === "rejected") throw claimed.reason;
  if (claimed.value) throw new Undone({ ...claimed.value, replayed: true });
  if (handled.status === "rejected") return refused(running, handled.reason);
  const { result, audited } = handled.value;
  const isAsked = tellsQuestions(running) || running.effects.confirmed !== undefined;
  const asked = isAsked ? await askedBy(running) : undefined;
  const isTried = isDry(running) || (asked !== undefined && running.call.mustAsk === true);
  const weight = running.call.review === "weighed" ? await weigh(running, isTried) : null;
  if (isTried) {
    const needs = weight ? { approval: weight.reasons } : {};
    const shown = conceals(running) ? {} : result;
    throw new Undone({ ...dryOutcome(operation, shown), ...(asked && { asked: { ...asked, ...needs } }) });
  }
  if (weight) return propose(running, weight);
  const outcome = finish(running, audited, result);
  if (operation.discarded) throw new Undone(outcome);
  if (asked) outcome.asked = asked;
  return outcome;
}

/** Whether the operation tells of each of its records. */
function emits({ crud }: Operation): boolean {
  return crud !== undefined && crud.verb in crud.table.events;
}

/** The refusal whose writes are committed, with its events and its audit row; any other error is thrown. */
function refused(running: Running, error: unknown): Outcome {
  const fault = toFault(error);
  if (!fault.commitWrites) throw error;
  const { effects, keyed } = running;
  const { about } = effects;
  const audited = about.entityId ? [auditOf(running, null)] : [];
  const isKept = keyed && isRecorded(fault);
  writeLast(running, { ...effects, audited, ...(isKept && { answer: refusalOf(fault) }) });
  return { status: fault.status, body: "", replayed: false, fault };
}

async function handle(running: Running): Promise<Handled> {
  const { operation, many, choose, call } = running;
  const context = contextOf(running);
  if (call.confirmation) {
    const { bound } = await useConfirmation(running, call.confirmation);
    running.effects.confirmed = bound;
    running.effects.shown = audiencesIn(bound);
  }
  if (call.review === "weighed") await running.sql`savepoint untouched`;
  const rows = await choose?.(context);
  const inputs = rows ? rows.map(({ id }) => ({ ...running.inputs[0], id })) : running.inputs;
  const behind = await operation.watch?.(context, inputs.flatMap(idsIn));
  const { results, audited } = await handleAll(running, context, inputs);
  const changed = [...inputs, ...results].flatMap(idsIn);
  await operation.afterwards?.(context, changed);
  await behind?.(changed);
  const result = rows && operation.crud?.verb === "delete" ? rows : many || rows ? results : results[0];
  return { result, audited };
}

/** The ids of a record, and of the players whom it is about. */
function idsIn(record: unknown): string[] {
  const { id, player_id, playerId, duplicateId } = (record ?? {}) as Record<string, unknown>;
  return [id, player_id, playerId, duplicateId].filter((one) => typeof one === "string");
}

async function handleAll(running: Running, context: Context, inputs: Record<string, unknown>[]) {
  const { operation, many, effects } = running;
  const results: unknown[] = [];
  const audited: AuditRow[] = [];
  if (many && operation.many) {
    effects.about = { entityId: null, diff: { records: inputs.length } };
    results.push(...(await operation.many(context, inputs)));
    return { results, audited: [auditOf(running, null)] };
  }
  const isTogether = operation.together && inputs.length > 1;
  const rows = isTogether ? await operation.together!(context, inputs) : null;
  for (const [index, input] of inputs.entries()) {
    effects.about = {};
    const handled = rows ? rows.finish(index) : operation.handler(context, input);
    const result = await handled.catch((error: unknown) => {
      throw many ? thrownAt(index, error) : error;
    });
    results.push(result);
    // Null: the record stayed unchanged.
    if (result !== null) audited.push(auditOf(running, result));
  }
  return { results, audited };
}

function contextOf(running: Running): Context {
  const { service, call, property, effects, sql, last } = running;
  const leave: Context["writeLast"] = (write, row, { locks = false, isStale } = {}) => {
    last(write, row, { locks });
    if (isStale) effects.isStale = isStale;
  };
  return {
    sql,
    // The funnel has resolved it for all operations that read it.
    property: property as Property,
    call,
    config: service.config,
    log: service.log,
    now: service.directory.now,
    issueToken: service.sessions.issue,
    sessionOf: service.sessions.sessionOf,
    signDetached: service.sessions.signDetached,
    emit: effects.emit,
    enqueue: effects.enqueue,
    goOn: (cursor) => {
      effects.nextCursor = cursor;
    },
    ask: (question) => effects.shown[effects.questions.push(question) - 1] ?? null,
    counted: (total) => {
      effects.total = total;
    },
    warn: (sentence) => void effects.warnings.push(sentence),
    audit: (about) => void Object.assign(effects.about, about),
    ...(running.operation.others && carrying(running, handle)),
    ...(doesNoMore(running) && !running.isAgain && { writeLast: leave }),
  };
}

function pageOf(body: string, rows: number, { nextCursor, total }: Effects): Page {
  return { body, rows, ...(nextCursor !== null && { nextCursor }), ...(total !== null && { total }) };
}

/**
 * The answer, and the last statements. They write events, jobs, the recorded answer and an audit row per input, beside
 * the handler's rows.
 */
function finish(running: Running, audited: AuditRow[], result: unknown): Outcome {
  const { operation, effects } = running;
  const { secrets, status } = operation;
  const outcome: Outcome = { status, body: JSON.stringify(result ?? {}), replayed: false };
  if (effects.warnings.length > 0) outcome.warnings = effects.warnings;
  if (Array.isArray(result) && (effects.nextCursor ?? effects.total) !== null) {
    outcome.page = pageOf(outcome.body, result.length, effects);
  }
  if (!writesRows(operation)) return outcome;
  if (audited[0]) outcome.auditId = audited[0].id;
  const body = secrets.length > 0 ? JSON.stringify(without(result, secrets)) : outcome.body;
  writeLast(running, {
    ...effects,
    answer: { status, body },
    audited: [...audited, ...effects.carried],
  });
  return outcome;
}
