import type { Sql, Work } from "#db/client.ts";
import type { Page } from "#db/reader.ts";
import { atOnce } from "#db/statement.ts";
import { NotTogether } from "#db/together.ts";
import { type AuditRow, auditOf, auditPart } from "./audit.ts";
import { useConfirmation } from "./confirmations.ts";
import type { Context, Insertion } from "./context.ts";
import type { Property } from "./directory.ts";
import { dryOutcome, isDry, Undone, without } from "./dry-run.ts";
import { thrownAt, toFault } from "./faults.ts";
import {
  isRecorded,
  type Keyed,
  lockText,
  type Recorded,
  recordPart,
  refuseRecorded,
} from "./idempotency.ts";
import type { Outcome } from "./invoke.ts";
import { effectParts, type PendingEvent, type PendingJob } from "./outbox.ts";
import { answeredOtherwise, keyedCall, scopeOf } from "./replay.ts";
import { type Run, transact, writesRows } from "./transact.ts";

interface Effects {
  /** The transaction has its Idempotency-Key, and no twin runs. */
  owned: boolean;
  /** The key has been answered before: nothing that this transaction does counts. */
  recorded: boolean;
  events: PendingEvent[];
  jobs: PendingJob[];
  insertion: Insertion | null;
  /** Where a list goes on. */
  nextCursor: string | null;
  /** The state that the answer is about. */
  bound: string | null;
  /** How many rows a list has. */
  total: number | null;
  /** Of the input that is handled now. */
  about: Parameters<Context["audit"]>[0];
}

interface Begun extends Run {
  effects: Effects;
  keyed: Keyed | null;
}

/** One call inside its transaction. */
interface Running extends Begun {
  sql: Sql;
  last(statement: PromiseLike<unknown>): void;
}

/** Runs a call in its one transaction: the handler, outbox, queue, audit and the recorded answer, or nothing. */
export async function run(call: Run): Promise<Outcome> {
  const effects: Effects = {
    owned: false,
    recorded: false,
    events: [],
    jobs: [],
    insertion: null,
    nextCursor: null,
    bound: null,
    total: null,
    about: {},
  };
  // What is undone is no answer for later.
  const keyed = isDry(call) ? null : keyedCall(call);
  const shares = isLoneRow(call) && !call.alone && !call.call.confirmation && !isDry(call);
  const beginning = shares ? runTogether : runAlone;
  const outcome = await beginning({ ...call, effects, keyed }).catch((error: unknown) => {
    if (error instanceof Undone) return error.outcome;
    if (error instanceof NotTogether) return run({ ...call, alone: true });
    if (effects.insertion?.isMore(error)) return run({ ...call, rowFirst: true });
    const explained = effects.insertion?.explain(error) ?? error;
    if (keyed) return answeredOtherwise(call, keyed, effects, explained);
    throw explained;
  });
  if (outcome.fault) throw outcome.fault;
  if (!outcome.replayed && (effects.jobs.length > 0 || effects.events.length > 0)) call.service.wake();
  return outcome;
}

function runAlone(begun: Begun): Promise<Outcome> {
  return transact(begun, (sql, last) => keyedWork({ ...begun, sql, last }), openingOf(begun));
}

/**
 * Only the last statement goes into a transaction that others share. What a handler asks there is no longer true
 * when one of them writes, and no lock keeps them apart; so one that asks anything runs alone.
 */
async function runTogether(begun: Begun): Promise<Outcome> {
  const asking = { ...begun, sql: UNASKED, last: () => {} };
  const { results, audited } = await handleAll(asking, contextOf(asking), begun.inputs);
  const work: Work<Outcome> = async (sql, last) => finish({ ...begun, sql, last }, audited, results[0]);
  return transact(begun, work, { ...openingOf(begun), together: true });
}

const refuseToAsk = (): never => {
  throw new NotTogether();
};
const UNASKED = new Proxy(refuseToAsk, { get: refuseToAsk }) as unknown as Sql;

/** The locks that the transaction begins with. */
function openingOf(begun: Begun) {
  const { operation, property, keyed, effects } = begun;
  const { table, verb } = operation.crud ?? {};
  // A lone row needs no lock: its twin waits at the record of the key, which is written in the same statement.
  const key = keyed && !isLoneRow(begun) ? lockText(keyed) : null;
  const turn = verb === "create" || verb === "update" ? table?.turn?.(property!.id) : null;
  const before = [key, turn].filter(Boolean).join("; ");
  const onBegun = () => {
    effects.owned = key !== null;
  };
  return { ...(before && { before }), onBegun };
}

/** Whether the call creates one row, which its last statement can insert. */
function isLoneRow({ operation, many, choose, rowFirst }: Omit<Run, "inputs">): boolean {
  if (operation.crud?.verb !== "create" || many || choose || rowFirst) return false;
  const { afterWrite, lookup } = operation.crud.table;
  return !afterWrite || lookup !== undefined;
}

/**
 * The handler's first query travels with the question whether the key has been answered, and fails if it has. A
 * lone row is not worth the question: the statement that inserts it keeps the answer too, or fails.
 */
async function keyedWork(running: Running): Promise<Outcome> {
  const { keyed, effects, sql } = running;
  if (!keyed || isLoneRow(running)) return handle(running);
  const asked = refuseRecorded(sql, keyed).then(
    () => null,
    (error: unknown) => {
      effects.recorded = isRecorded(error);
      return { error };
    },
  );
  const handled = await handle(running).catch((error: unknown) => ({ error }));
  if (!("error" in handled) && !handled.fault) return handled;
  // What it says is worth nothing where the key has been answered.
  const refused = await asked;
  if (refused) throw refused.error;
  if ("error" in handled) throw handled.error;
  return handled;
}

async function handle(running: Running): Promise<Outcome> {
  const { operation, many, choose, call } = running;
  const context = contextOf(running);
  try {
    if (call.confirmation) {
      const scope = scopeOf(call, running.property);
      context.confirmed = await useConfirmation(running.sql, scope, operation, call.confirmation);
    }
    const rows = await choose?.(context);
    const inputs = rows ? rows.map(({ id }) => ({ ...running.inputs[0], id })) : running.inputs;
    const { results, audited } = await handleAll(running, context, inputs);
    const result = rows && operation.crud?.verb === "delete" ? rows : many || rows ? results : results[0];
    if (isDry(running)) throw new Undone(boundBy(running, dryOutcome(operation, result)));
    return finish(running, audited, result);
  } catch (error) {
    const fault = toFault(error);
    if (fault.keepWrites) return { status: fault.status, body: "", replayed: false, fault };
    throw error;
  }
}

async function handleAll(running: Running, context: Context, inputs: object[]) {
  const { operation, many, effects } = running;
  const results: unknown[] = [];
  const audited: AuditRow[] = [];
  if (many && operation.many) {
    effects.about = { entityId: null, diff: { records: inputs.length } };
    results.push(...(await operation.many(context, inputs as never)));
    return { results, audited: [auditOf(running, null)] };
  }
  for (const [index, input] of inputs.entries()) {
    effects.about = {};
    const result = await operation.handler(context, input as never).catch((error: unknown) => {
      throw many ? thrownAt(index, error) : error;
    });
    results.push(result);
    // Null: the record was left as it is.
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
    // Operations without a property do not read it; the funnel has resolved it for all others.
    property: property as Property,
    call,
    config: service.config,
    log: service.log,
    now: service.directory.now,
    issueToken: service.sessions.issue,
    signDetached: service.sessions.signDetached,
    emit: (type, object, previous) => void effects.events.push({ type, object, previous }),
    enqueue: (job, input, options) =>
      void effects.jobs.push({
        name: job.name,
        attempts: job.attempts,
        input: job.input.parse(input),
        ...options,
      }),
    goOn: (cursor) => {
      effects.nextCursor = cursor;
    },
    bind: (state) => {
      effects.bound = state;
    },
    counted: (total) => {
      effects.total = total;
    },
    audit: (about) => void Object.assign(effects.about, about),
    ...(isLoneRow(running) && !isDry(running) && { insertLast }),
  };
}

function boundBy({ effects: { bound } }: Running, outcome: Outcome): Outcome {
  return bound === null ? outcome : { ...outcome, bound };
}

function pageOf(body: string, rows: number, { nextCursor, total }: Effects): Page {
  return { body, rows, ...(nextCursor !== null && { nextCursor }), ...(total !== null && { total }) };
}

/**
 * The answer, and the last statement: what is written beside the handler's rows, which are events, jobs, the
 * recorded answer and an audit row for each input.
 */
function finish(running: Running, audited: AuditRow[], result: unknown): Outcome {
  const { operation, property, effects, keyed, sql, last } = running;
  const { about, events, jobs, insertion } = effects;
  const { secrets, status } = operation;
  const body = insertion ? "" : JSON.stringify(result ?? {});
  const outcome = boundBy(running, { status, body, replayed: false });
  if (Array.isArray(result) && (effects.nextCursor ?? effects.total) !== null) {
    outcome.page = pageOf(outcome.body, result.length, effects);
  }
  if (!writesRows(operation)) return outcome;
  if (audited[0]) outcome.auditId = audited[0].id;
  const propertyId = about.propertyId ?? property?.id ?? null;
  const kept = secrets.length > 0 ? JSON.stringify(without(result, secrets)) : outcome.body;
  const recorded: Recorded = { status, body: insertion ? "answered" : kept };
  const parts = [
    ...(insertion?.parts ?? []),
    ...effectParts(property?.id ?? propertyId, events, jobs),
    ...(keyed ? [recordPart(keyed, operation.name, recorded)] : []),
    ...(audited.length > 0 ? [auditPart(propertyId, audited)] : []),
  ];
  if (insertion) {
    const answered = atOnce<{ body: string }>(sql, parts, "body from answered").then(([row]) => {
      outcome.body = insertion.shown(row!.body);
    });
    last(answered);
  } else if (parts.length > 0) last(atOnce(sql, parts));
  return outcome;
}
