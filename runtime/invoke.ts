import type { Database, Sql, Work } from "#db/client.ts";
import type { Flow } from "#db/flow.ts";
import type { Page, Reader } from "#db/reader.ts";
import { checkScope, resolveProperty } from "./access.ts";
import { type AuditRow, auditPart, auditRow } from "./audit.ts";
import type { Config } from "./config.ts";
import type { Directory, Property } from "./directory.ts";
import { type Fault, faultBody, toFault } from "./faults.ts";
import {
  findRecorded,
  isLockTimeout,
  type Keyed,
  keyInUse,
  lockText,
  type Recorded,
  recordPart,
} from "./idempotency.ts";
import { asObject, foldCasing, parseInput } from "./input.ts";
import type { Log } from "./log.ts";
import type { Call, Context, File, Operation, Row } from "./operation.ts";
import { atOnce, effectParts, type PendingEvent, type PendingJob } from "./outbox.ts";
import type { Sessions } from "./sessions.ts";

/** What runs operations, made once by the composition root. */
export interface Service {
  db: Database;
  reader: Reader;
  directory: Directory;
  sessions: Sessions;
  config: Config;
  log: Log;
  /** Called after a commit that left jobs on the queue. */
  wake(): void;
}

export interface Outcome {
  status: number;
  /** JSON text. */
  body: string;
  replayed: boolean;
  /** Of a list: what the face needs to page on. */
  page?: Page;
  auditId?: string;
  /** A refusal whose writes were kept. */
  fault?: Fault;
  /** Instead of the body. Whoever has it reads it to its end, or cancels it. */
  file?: { filename: string; contentType: string; flow: Flow };
}

/** Locks the rows that a change is about, in the change's own transaction. */
export type Choose = (context: Context) => Promise<Row[]>;

const NOBODY = "00000000-0000-0000-0000-000000000000";

interface Effects {
  /** The transaction has its Idempotency-Key, and no twin runs. */
  owned: boolean;
  events: PendingEvent[];
  jobs: PendingJob[];
  /** Of the input that is handled now. */
  about: Parameters<Context["audit"]>[0];
}

/**
 * The only way to run an operation: scope, property, parse, one transaction with the idempotency record, the
 * handler, outbox, queue and audit, commit. Several inputs run in the one transaction, and answer an array.
 * With `choose` the one input, which has no id, is for each row that it locks; a removal answers those rows.
 */
export async function invoke(
  service: Service,
  operation: Operation,
  call: Call,
  raw: unknown,
  options: { many?: boolean; choose?: Choose } = {},
): Promise<Outcome> {
  try {
    checkScope(operation, call.actor);
    const inputs = (options.many ? (raw as unknown[]) : [raw]).map((one) =>
      foldCasing(operation, asObject(one)),
    );
    const property = needsProperty(operation)
      ? await resolveProperty(service.directory, operation, call, inputs[0] ?? {})
      : null;
    const parsed = inputs.map((input) =>
      parseInput(operation, options.choose ? { ...input, id: NOBODY } : input),
    );
    if (operation.read) return await read(service, operation, property!, parsed[0]!);
    if (operation.file) return await flowing(service, operation, call, property!, parsed[0]!);
    return await run(service, operation, call, property, parsed, options);
  } catch (error) {
    throw explained(service, operation, call, error);
  }
}

/** Whether the operation works in a property. */
export function needsProperty(operation: Operation): boolean {
  return operation.realm === "property" || operation.property !== null;
}

async function read(
  service: Service,
  operation: Operation,
  property: Property,
  input: object,
): Promise<Outcome> {
  const page = await operation.read!(service.reader, property.id, input as never);
  return { status: 200, body: page.body, replayed: false, page };
}

/** The call's own transaction checks and records it; then the bytes flow, at the receiver's pace. */
async function flowing(
  service: Service,
  operation: Operation,
  call: Call,
  property: Property,
  input: Record<string, unknown>,
): Promise<Outcome> {
  // First of all: what there is no lane for is not recorded as done.
  const lane = await service.db.lane(property.id);
  try {
    let file: File | undefined;
    const handler = async (context: Context, given: never) => {
      file = (await operation.handler(context, given)) as File;
      return { filename: file.filename };
    };
    const outcome = await run(service, { ...operation, handler }, call, property, [input], {});
    const { filename, source } = file!;
    const { contentType } = operation.file!;
    return { ...outcome, file: { filename, contentType, flow: lane.start(source) } };
  } catch (error) {
    lane.release();
    throw error;
  }
}

async function run(
  service: Service,
  operation: Operation,
  call: Call,
  property: Property | null,
  inputs: Record<string, unknown>[],
  { many = false, choose }: { many?: boolean; choose?: Choose },
): Promise<Outcome> {
  const effects: Effects = { owned: false, events: [], jobs: [], about: {} };
  const keyed = keyedCall(operation, call, property);
  const work: Work<Outcome> = (sql, last) =>
    transaction({ service, operation, call, property, inputs, many, choose, effects, keyed, sql, last });
  const readOnly = !writesRows(operation) && operation.realm === "property";
  const { deadline } = operation;
  const options = { readOnly, ...(keyed && { before: lockText(keyed) }), ...(deadline && { deadline }) };
  const running =
    operation.realm === "property"
      ? service.db.asProperty(property!.id, work, options)
      : service.db.asSystem(work, options);
  const outcome = await running.catch((error: unknown) => {
    throw keyed && !effects.owned && isLockTimeout(error) ? keyInUse(error) : error;
  });
  if (outcome.fault) throw outcome.fault;
  if (!outcome.replayed && (effects.jobs.length > 0 || effects.events.length > 0)) service.wake();
  return outcome;
}

/** Strangers share no key, and what they are refused is not kept. */
function keyedCall(operation: Operation, call: Call, property: Property | null): Keyed | null {
  const { idempotency } = call;
  if (!idempotency || operation.effect === "read" || operation.access === "public") return null;
  return { scope: property?.id ?? call.actor.id ?? NOBODY, ...idempotency };
}

function writesRows({ effect, recorded }: Operation): boolean {
  return effect !== "read" || recorded;
}

/** One call inside its transaction. */
interface Running {
  service: Service;
  operation: Operation;
  call: Call;
  property: Property | null;
  inputs: Record<string, unknown>[];
  many: boolean;
  choose: Choose | undefined;
  effects: Effects;
  keyed: Keyed | null;
  sql: Sql;
  last(statement: PromiseLike<unknown>): void;
}

async function transaction(running: Running): Promise<Outcome> {
  const { operation, many, choose, effects, keyed, sql } = running;
  if (keyed) {
    const recorded = await findRecorded(sql, keyed);
    effects.owned = true;
    if (recorded) return { ...recorded, replayed: true };
    // Not awaited: it travels with the handler's first query.
    sql`savepoint handler`.then(undefined, () => {});
  }
  const context = contextOf(running);
  try {
    const rows = await choose?.(context);
    const inputs = rows ? rows.map(({ id }) => ({ ...running.inputs[0], id })) : running.inputs;
    const { results, audited } = await handled(running, context, inputs);
    const result = rows && operation.crud?.verb === "delete" ? rows : many || rows ? results : results[0];
    const answer = { status: operation.status, body: JSON.stringify(result ?? {}) };
    const { secrets } = operation;
    const kept = secrets.length > 0 ? JSON.stringify(without(result, secrets)) : answer.body;
    const auditId = finish(running, audited, { ...answer, body: kept });
    return { ...answer, replayed: false, ...(auditId && { auditId }) };
  } catch (error) {
    const fault = toFault(error);
    if (fault.keepWrites) return { status: fault.status, body: "", replayed: false, fault };
    if (!keyed || (fault.status !== 404 && fault.status !== 409)) throw error;
    return await recordFault(sql, keyed, operation, fault);
  }
}

async function handled(running: Running, context: Context, inputs: object[]) {
  const { operation, many, effects } = running;
  const results: unknown[] = [];
  const audited: AuditRow[] = [];
  if (many && operation.many) {
    effects.about = { entityId: null, diff: { records: inputs.length } };
    results.push(...(await operation.many(context, inputs as never)));
    return { results, audited: [auditOf(running, null)] };
  }
  for (const input of inputs) {
    effects.about = {};
    const result = await operation.handler(context, input as never);
    results.push(result);
    // Null: the record was left as it is.
    if (result !== null) audited.push(auditOf(running, result));
  }
  return { results, audited };
}

/** A domain refusal is an answer too: it is what the same key is answered with again. */
async function recordFault(sql: Sql, keyed: Keyed, operation: Operation, fault: Fault): Promise<Outcome> {
  const answer = { status: fault.status, body: JSON.stringify(faultBody(fault)) };
  await sql`rollback to savepoint handler`;
  await atOnce(sql, [recordPart(sql, keyed, operation.name, answer)]);
  return { ...answer, replayed: false };
}

function contextOf({ service, call, property, effects, sql }: Running): Context {
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
    audit: (about) => void Object.assign(effects.about, about),
  };
}

function auditOf({ operation, call, effects: { about } }: Running, result: unknown): AuditRow {
  return auditRow(call, about.action ?? operation.name, {
    entity: about.entity ?? operation.crud?.table.name,
    entityId: about.entityId === undefined ? idOf(result) : about.entityId,
    diff: about.diff,
  });
}

/** What is written beside the handler's rows: events, jobs, the recorded answer, an audit row for each input. */
function finish(running: Running, audited: AuditRow[], kept: Recorded): string | undefined {
  const { operation, property, effects, keyed, sql, last } = running;
  if (!writesRows(operation)) return undefined;
  const { about, events, jobs } = effects;
  const propertyId = about.propertyId ?? property?.id ?? null;
  const parts = [
    ...effectParts(sql, property?.id ?? propertyId, events, jobs),
    ...(keyed ? [recordPart(sql, keyed, operation.name, kept)] : []),
    ...(audited.length > 0 ? [auditPart(sql, propertyId, audited)] : []),
  ];
  if (parts.length > 0) last(atOnce(sql, parts));
  return audited[0]?.id;
}

function idOf(result: unknown): string | null {
  if (typeof result !== "object" || result === null || !("id" in result)) return null;
  return typeof result.id === "string" ? result.id : null;
}

function without(result: unknown, secrets: readonly string[]): unknown {
  if (Array.isArray(result)) return result.map((one) => without(one, secrets));
  if (typeof result !== "object" || result === null) return result;
  return Object.fromEntries(Object.entries(result).filter(([key]) => !secrets.includes(key)));
}

function explained(service: Service, operation: Operation, call: Call, error: unknown): Fault {
  const fault = toFault(error);
  if (fault.status >= 500) {
    const level = fault.code === "internal" ? "error" : "warn";
    service.log[level](
      { err: fault.cause ?? fault, operation: operation.name, requestId: call.requestId },
      "operation failed",
    );
  }
  return fault;
}
