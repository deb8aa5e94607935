import type { Sql, Work } from "#db/database.ts";
import type { Page } from "#db/query/reader.ts";
import { join } from "#db/sql.ts";
import { Fault, thrownAt, toFault } from "#runtime/faults.ts";
import type { Context, Insertion, Question } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { inActivity } from "#runtime/telemetry/activity.ts";
import { type AuditRow, auditOf, auditPart, canonicalHash } from "./audit.ts";
import { useConfirmation } from "./confirmations.ts";
import { dryOutcome, isDry, Undone, without } from "./dry-run.ts";
import { type Answer, claimKey, type Keyed, recordPart } from "./idempotency.ts";
import { effectParts, type PendingEffects, pendingEffects } from "./outbox.ts";
import { keyedCall, recordRefusal, scopeOf } from "./replay.ts";
import type { Outcome } from "./service.ts";
import { type Run, transact, writesRows } from "./transact.ts";

interface Effects extends PendingEffects {
  insertion: Insertion | null;
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
}

/** One call inside its transaction. */
interface Running extends Run {
  effects: Effects;
  keyed: Keyed | null;
  sql: Sql;
  last(statement: PromiseLike<unknown>): void;
}

/** A call's result, and its audit rows. */
interface Handled {
  result: unknown;
  audited: AuditRow[];
}

/** Runs a call in its one transaction: all of the handler, outbox, queue, audit and recorded answer, or nothing. */
export async function run(call: Run): Promise<Outcome> {
  let effects = noEffects();
  // A rolled-back call leaves no answer for later.
  const keyed = isDry(call) ? null : keyedCall(call);
  // Another call of its group may run it.
  const work: Work<Outcome> = inActivity((sql, last) => {
    effects = noEffects();
    return answer({ ...call, effects, keyed, sql, last });
  });
  const outcome = await transact(call, work, openingOf(call)).catch((error: unknown) => {
    if (error instanceof Undone) return error.outcome;
    if (keyed) return recordRefusal(call, keyed, error);
    throw error;
  });
  if (outcome.fault) throw outcome.fault;
  if (!outcome.replayed && (effects.jobs.length > 0 || effects.events.length > 0)) call.service.wake();
  return outcome;
}

function noEffects(): Effects {
  return {
    ...pendingEffects(),
    insertion: null,
    nextCursor: null,
    questions: [],
    total: null,
    warnings: [],
    about: {},
  };
}

/** The opening of the transaction: the table's locks, and whether it may join a group commit. */
function openingOf(call: Run) {
  const { table, verb } = call.operation.crud ?? {};
  const before = verb === "create" || verb === "update" ? table?.lock?.(call.property!.id) : undefined;
  const group = insertsOne(call) && table?.groupCommit === true;
  return { ...(before && { before: [before] }), group };
}

/** Sends the handler's first query together with the look-up of the key; a recorded answer rolls the query back. */
async function answer(running: Running): Promise<Outcome> {
  const { operation, keyed, sql } = running;
  const claiming = keyed ? claimKey(sql, keyed) : null;
  const [claimed, handled] = await Promise.allSettled([claiming, handle(running)]);
  if (claimed.status === "rejected") throw claimed.reason;
  if (claimed.value) throw new Undone({ ...claimed.value, replayed: true });
  if (handled.status === "rejected") return refused(handled.reason);
  const { result, audited } = handled.value;
  const asked = await askedBy(running);
  if (isDry(running) || (asked && running.call.mustAsk)) {
    throw new Undone({ ...dryOutcome(operation, result), ...(asked && { asked }) });
  }
  const outcome = finish(running, audited, result);
  if (operation.discarded) throw new Undone(outcome);
  if (asked) outcome.asked = asked;
  return outcome;
}

/** The handler's questions, in words where somebody reads them. Throws where an agent has confirmed another state. */
async function askedBy({ operation, call, effects }: Running): Promise<Outcome["asked"]> {
  const { questions, confirmed } = effects;
  const isTold = call.mustAsk === true || (call.transport === "mcp" && operation.effect === "read");
  if (!isTold && confirmed === undefined) return undefined;
  const told: { state: string; sentences: string[] }[] = [];
  for (const { state, sentences } of questions) {
    const said = isTold || state === undefined ? await sentences() : [];
    told.push({ state: state ?? said.join("\n"), sentences: said });
  }
  const state = canonicalHash(told.map((one) => one.state)).toString("hex");
  if (confirmed !== undefined && confirmed !== (told.length > 0 ? state : null)) {
    throw new Fault("precondition_failed", { message: "It has changed since that preview." });
  }
  return told.length > 0 ? { state, sentences: told.flatMap(({ sentences }) => sentences) } : undefined;
}

/** The refusal whose writes are committed; any other error is thrown. */
function refused(error: unknown): Outcome {
  const fault = toFault(error);
  if (!fault.commitWrites) throw error;
  return { status: fault.status, body: "", replayed: false, fault };
}

async function handle(running: Running): Promise<Handled> {
  const { operation, many, choose, call } = running;
  const context = contextOf(running);
  if (call.confirmation) {
    const scope = scopeOf(call, running.property);
    const { bound } = await useConfirmation(running.sql, scope, operation, call.confirmation);
    running.effects.confirmed = bound;
  }
  const rows = await choose?.(context);
  const inputs = rows ? rows.map(({ id }) => ({ ...running.inputs[0], id })) : running.inputs;
  const { results, audited } = await handleAll(running, context, inputs);
  await operation.afterwards?.(context, [...inputs, ...results].flatMap(idsIn));
  const result = rows && operation.crud?.verb === "delete" ? rows : many || rows ? results : results[0];
  return { result, audited };
}

function idsIn(record: unknown): string[] {
  const { id } = (record ?? {}) as { id?: unknown };
  return typeof id === "string" ? [id] : [];
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
  for (const [index, input] of inputs.entries()) {
    effects.about = {};
    const result = await operation.handler(context, input).catch((error: unknown) => {
      throw many ? thrownAt(index, error) : error;
    });
    results.push(result);
    // Null: the record stayed unchanged.
    if (result !== null) audited.push(auditOf(running, result));
  }
  return { results, audited };
}

function contextOf(running: Running): Context {
  const { service, call, property, effects, sql } = running;
  const insertLast = (insertion: Insertion) => {
    effects.insertion = insertion;
    return { id: insertion.id };
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
    signDetached: service.sessions.signDetached,
    emit: effects.emit,
    enqueue: effects.enqueue,
    goOn: (cursor) => {
      effects.nextCursor = cursor;
    },
    ask: (question) => void effects.questions.push(question),
    counted: (total) => {
      effects.total = total;
    },
    warn: (sentence) => void effects.warnings.push(sentence),
    audit: (about) => void Object.assign(effects.about, about),
    ...(insertsOne(running) && { insertLast }),
  };
}

/**
 * Whether the call creates one row, which its last statement can insert. Not on a cluster: other parts of the statement
 * read that row, and Citus would send it to all nodes for them.
 */
function insertsOne({ service, operation, call, many, choose, inputs, dry }: Run): boolean {
  if (service.isCluster || many || choose || call.mustAsk) return false;
  return operation.crud?.verb === "create" && !isDry({ operation, inputs, dry });
}

function pageOf(body: string, rows: number, { nextCursor, total }: Effects): Page {
  return { body, rows, ...(nextCursor !== null && { nextCursor }), ...(total !== null && { total }) };
}

/**
 * The answer, and the last statement. It writes events, jobs, the recorded answer and an audit row per input, beside
 * the handler's rows.
 */
function finish(running: Running, audited: AuditRow[], result: unknown): Outcome {
  const { operation, property, effects, keyed, sql, last } = running;
  const { about, events, jobs, insertion } = effects;
  const { secrets, status } = operation;
  const body = insertion ? "" : JSON.stringify(result ?? {});
  const outcome: Outcome = { status, body, replayed: false };
  if (effects.warnings.length > 0) outcome.warnings = effects.warnings;
  if (Array.isArray(result) && (effects.nextCursor ?? effects.total) !== null) {
    outcome.page = pageOf(outcome.body, result.length, effects);
  }
  if (!writesRows(operation)) return outcome;
  if (audited[0]) outcome.auditId = audited[0].id;
  const propertyId = about.propertyId ?? property?.id ?? null;
  const storedBody = secrets.length > 0 ? JSON.stringify(without(result, secrets)) : outcome.body;
  const recorded: Answer = { status, body: insertion ? "answered" : storedBody };
  const parts = [
    ...(insertion?.parts ?? []),
    ...effectParts(property?.id ?? propertyId, events, jobs),
    ...(keyed ? [recordPart(keyed, operation.name, recorded)] : []),
    ...(audited.length > 0 ? [auditPart(propertyId, audited)] : []),
  ];
  if (insertion) {
    const answered = sql<{ body: string }[]>`with ${join(parts)} select body from answered`.then(
      ([row]) => {
        outcome.body = insertion.shown(row!.body);
      },
      (error: unknown) => {
        throw insertion.explain(error);
      },
    );
    last(answered);
  } else if (parts.length > 0) last(sql`with ${join(parts)} select 1`);
  return outcome;
}
