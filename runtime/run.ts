import type { Sql, TransactionOptions, Work } from "#db/client.ts";
import { atOnce } from "#db/statement.ts";
import { NotTogether } from "#db/together.ts";
import { NIL_UUID } from "#db/types.ts";
import { type AuditRow, auditOf, auditPart } from "./audit.ts";
import type { Property } from "./directory.ts";
import { dryOutcome, isDry, Undone, without } from "./dry-run.ts";
import { faultBody, thrownAt, toFault } from "./faults.ts";
import {
  findRecorded,
  isLockTimeout,
  isRecorded,
  type Keyed,
  keyInUse,
  lockText,
  type Recorded,
  recordPart,
  refuseRecorded,
} from "./idempotency.ts";
import type { Choose, Outcome, Service } from "./invoke.ts";
import { type Call, type Context, type Insertion, keepsAnswer, type Operation } from "./operation.ts";
import { effectParts, type PendingEvent, type PendingJob } from "./outbox.ts";

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
  /** A new row is written before what is written beside it. */
  rowFirst?: boolean;
  /** Its transaction is its own. */
  alone?: boolean;
}

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
  /** Of the input that is handled now. */
  about: Parameters<Context["audit"]>[0];
}

/** One call inside its transaction. */
interface Running extends Run {
  effects: Effects;
  keyed: Keyed | null;
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
    about: {},
  };
  // What is undone is no answer for later.
  const keyed = isDry(call) ? null : keyedCall(call);
  const outcome = await transact(
    call,
    (sql, last) => keyedWork({ ...call, effects, keyed, sql, last }),
    openingOf(call, keyed, effects),
  ).catch((error: unknown) => {
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

/** The locks that the transaction begins with. */
function openingOf(call: Run, keyed: Keyed | null, effects: Effects) {
  const { operation, property } = call;
  const { table, verb } = operation.crud ?? {};
  // A lone row needs no lock: its twin waits at the record of the key, which is written in the same statement.
  const key = keyed && !isLoneRow(call) ? lockText(keyed) : null;
  const turn = verb === "create" || verb === "update" ? table?.turn?.(property!.id) : null;
  const before = [key, turn].filter(Boolean).join("; ");
  const onBegun = () => {
    effects.owned = key !== null;
  };
  const together = isLoneRow(call) && !call.alone && !isDry(call);
  return { ...(before && { before }), onBegun, together };
}

/** Whether the call creates one row, which its last statement can insert. */
function isLoneRow({ operation, many, choose, rowFirst }: Omit<Run, "inputs">): boolean {
  if (operation.crud?.verb !== "create" || many || choose || rowFirst) return false;
  const { afterWrite, lookup } = operation.crud.table;
  return !afterWrite || lookup !== undefined;
}

function transact<T>(
  { service, operation, property }: Omit<Run, "inputs">,
  work: Work<T>,
  opening: Pick<TransactionOptions, "before" | "onBegun" | "together"> = {},
): Promise<T> {
  const tenant = operation.realm === "property";
  const { deadline } = operation;
  const options = { readOnly: !writesRows(operation) && tenant, ...(deadline && { deadline }), ...opening };
  return tenant ? service.db.asProperty(property!.id, work, options) : service.db.asSystem(work, options);
}

/** Strangers share no key, and what they are refused is not kept. */
export function keyedCall({ operation, call, property }: Omit<Run, "inputs">): Keyed | null {
  const { idempotency } = call;
  if (!idempotency || !keepsAnswer(operation) || operation.access === "public") return null;
  return { scope: property?.id ?? call.actor.id ?? NIL_UUID, ...idempotency };
}

function writesRows({ effect, recorded }: Operation): boolean {
  return effect !== "read" || recorded;
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
  const { operation, many, choose } = running;
  const context = contextOf(running);
  try {
    const rows = await choose?.(context);
    const inputs = rows ? rows.map(({ id }) => ({ ...running.inputs[0], id })) : running.inputs;
    const { results, audited } = await handleAll(running, context, inputs);
    const result = rows && operation.crud?.verb === "delete" ? rows : many || rows ? results : results[0];
    if (isDry(running)) throw new Undone(dryOutcome(operation, result));
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

/** What a keyed call is answered with whose transaction was undone: what is recorded, or its own refusal. */
async function answeredOtherwise(
  call: Run,
  keyed: Keyed,
  effects: Effects,
  error: unknown,
): Promise<Outcome> {
  if (effects.recorded || isRecorded(error)) {
    const recorded = await findAnswer(call, keyed);
    // It has expired at this very moment.
    if (!recorded) throw keyInUse(error);
    return recorded;
  }
  if (!effects.owned && isLockTimeout(error)) throw keyInUse(error);
  const fault = toFault(error);
  if (fault.status >= 500) throw error;
  if (fault.status !== 404 && fault.status !== 409) {
    const recorded = await findAnswer(call, keyed);
    if (recorded) return recorded;
    throw error;
  }
  // A domain refusal is an answer too: it is what the same key is answered with again.
  const answer = { status: fault.status, body: JSON.stringify(faultBody(fault)) };
  const record: Work<Outcome> = async (sql) => {
    const recorded = await findRecorded(sql, keyed);
    if (recorded) return { ...recorded, replayed: true };
    await atOnce(sql, [recordPart(keyed, call.operation.name, answer)]);
    return { ...answer, replayed: false };
  };
  return transact(call, record, { before: lockText(keyed) }).catch((failure: unknown) => {
    throw isLockTimeout(failure) ? keyInUse(failure) : failure;
  });
}

/** The recorded answer of a keyed call; null when there is none. Throws `idempotency_key_reused`. */
export async function findAnswer(call: Omit<Run, "inputs">, keyed: Keyed): Promise<Outcome | null> {
  const recorded = await transact(call, (sql) => findRecorded(sql, keyed));
  return recorded && { ...recorded, replayed: true };
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
    audit: (about) => void Object.assign(effects.about, about),
    ...(isLoneRow(running) && !isDry(running) && { insertLast }),
  };
}

/**
 * The answer, and the last statement: what is written beside the handler's rows, which are events, jobs, the
 * recorded answer and an audit row for each input.
 */
function finish(running: Running, audited: AuditRow[], result: unknown): Outcome {
  const { operation, property, effects, keyed, sql, last } = running;
  const { about, events, jobs, insertion } = effects;
  const { secrets, status } = operation;
  const outcome: Outcome = { status, body: insertion ? "" : JSON.stringify(result ?? {}), replayed: false };
  if (Array.isArray(result) && effects.nextCursor !== null) {
    outcome.page = { body: outcome.body, rows: result.length, nextCursor: effects.nextCursor };
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
