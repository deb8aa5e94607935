import type { Database, Sql, Work } from "#db/client.ts";
import type { Page, Reader } from "#db/reader.ts";
import { checkScope, resolveProperty } from "./access.ts";
import { auditRow, recordHash } from "./audit.ts";
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
import type { Call, Context, Operation, Row } from "./operation.ts";
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
}

/** Locks the rows that a change is about, in the change's own transaction. */
export type Choose = (context: Context) => Promise<Row[]>;

const NOBODY = "00000000-0000-0000-0000-000000000000";

interface Effects {
  /** The transaction has its Idempotency-Key, and no twin runs. */
  owned: boolean;
  events: PendingEvent[];
  jobs: PendingJob[];
  about: { entity?: string; entityId?: string | null; propertyId?: string; diff?: object };
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
  const readOnly = operation.effect === "read" && operation.realm === "property";
  const options = { readOnly, ...(keyed && { before: lockText(keyed) }) };
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
    const results: unknown[] = [];
    for (const input of inputs) results.push(await operation.handler(context, input as never));
    if (rows && rows.length !== 1) context.audit({ entityId: null, diff: { ids: rows.map(({ id }) => id) } });
    const result = rows && operation.crud?.verb === "delete" ? rows : many || rows ? results : results[0];
    const answer = { status: operation.status, body: JSON.stringify(result ?? {}) };
    const auditId = finish(running, result, answer);
    return { ...answer, replayed: false, ...(auditId && { auditId }) };
  } catch (error) {
    const fault = toFault(error);
    if (fault.keepWrites) return { status: fault.status, body: "", replayed: false, fault };
    if (!keyed || (fault.status !== 404 && fault.status !== 409)) throw error;
    return await recordFault(sql, keyed, operation, fault);
  }
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

/** What is written beside the handler's rows: events, jobs, the recorded answer, the audit row. */
function finish(running: Running, result: unknown, answer: Recorded): string | undefined {
  const { operation, call, property, effects, keyed, sql, last } = running;
  if (operation.effect === "read") return undefined;
  const { about, events, jobs } = effects;
  const propertyId = about.propertyId ?? property?.id ?? null;
  const row = auditRow(call, operation.name, {
    entity: about.entity ?? operation.crud?.table.name,
    entityId: about.entityId === undefined ? idOf(result) : about.entityId,
    diff: about.diff,
  });
  const { secrets } = operation;
  const kept = secrets.length > 0 ? JSON.stringify(without(result, secrets)) : answer.body;
  last(
    atOnce(sql, [
      ...effectParts(sql, property?.id ?? propertyId, events, jobs),
      ...(keyed ? [recordPart(sql, keyed, operation.name, { ...answer, body: kept })] : []),
      auditPart(sql, propertyId, row),
    ]),
  );
  return row.id;
}

function auditPart(sql: Sql, propertyId: string | null, row: ReturnType<typeof auditRow>) {
  if (propertyId === null) {
    const { client: _, ...rest } = row;
    return sql`audited as (insert into system_audit_logs ${sql(rest as never)})`;
  }
  const hash = recordHash({ property_id: propertyId, ...row });
  return sql`audited as (
    insert into audit_logs (property_id, id, actor_type, actor_id, client, action, entity, entity_id, diff, ip,
      request_id, record_hash)
    values (${propertyId}, ${row.id}, ${row.actor_type}, ${row.actor_id}, ${row.client}, ${row.action},
      ${row.entity}, ${row.entity_id}, ${row.diff as never}, ${row.ip}, ${row.request_id}, ${hash})
  )`;
}

function idOf(result: unknown): string | null {
  const one = Array.isArray(result) ? result[0] : result;
  if (typeof one !== "object" || one === null || !("id" in one)) return null;
  return typeof one.id === "string" ? one.id : null;
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
