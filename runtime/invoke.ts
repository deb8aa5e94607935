import type { Database } from "#db/client.ts";
import type { Flow } from "#db/flow.ts";
import type { Page, Reader } from "#db/reader.ts";
import { NIL_UUID } from "#db/types.ts";
import { checkScope, resolveProperty } from "./access.ts";
import type { Config } from "./config.ts";
import type { Call, Context } from "./context.ts";
import type { Directory, Property } from "./directory.ts";
import { toToldFault } from "./failures.ts";
import { type Fault, thrownAt, toFault } from "./faults.ts";
import { asObject, foldCasing, parseInput } from "./input.ts";
import type { Log } from "./log.ts";
import type { File, Operation, Row } from "./operation.ts";
import { findAnswer, keyedCall } from "./replay.ts";
import { run } from "./run.ts";
import type { Sessions } from "./sessions.ts";
import type { Run } from "./transact.ts";

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
  /** The state that it is about, where the operation names one. */
  bound?: string;
  /** Nothing of it was kept. */
  dry?: true;
  /** A refusal whose writes were kept. */
  fault?: Fault;
  /** Instead of the body. Whoever has it reads it to its end, or cancels it. */
  file?: { filename: string; contentType: string; flow: Flow };
}

/** Locks the rows that a change is about, in the change's own transaction. */
export type Choose = (context: Context) => Promise<Row[]>;

/**
 * The only way to run an operation: scope, property, parse, one transaction with the idempotency record, the
 * handler, outbox, queue and audit, commit. Several inputs run in the one transaction, and answer an array.
 * With `choose` the one input, which has no id, is for each row that it locks; a removal answers those rows. What is
 * `dry` is undone, and answered all the same.
 */
export async function invoke(
  service: Service,
  operation: Operation,
  call: Call,
  raw: unknown,
  options: { many?: boolean; choose?: Choose; dry?: boolean } = {},
): Promise<Outcome> {
  try {
    checkScope(operation, call.actor);
    const inputs = each(options.many ? (raw as unknown[]) : [raw], options, (one) =>
      foldCasing(operation, asObject(one)),
    );
    const property = needsProperty(operation)
      ? await resolveProperty(service.directory, operation, call, inputs[0] ?? {})
      : null;
    const unparsed = { service, operation, call, property, ...options };
    let parsed: Record<string, unknown>[];
    try {
      parsed = each(inputs, options, (input) =>
        parseInput(operation, options.choose ? { ...input, id: NIL_UUID } : input),
      );
    } catch (error) {
      return await insteadOf(error, unparsed);
    }
    if (operation.read) return await read(service, operation, property!, parsed[0]!);
    if (operation.file) return await flowing(service, operation, call, property!, parsed[0]!);
    return await run({ ...unparsed, inputs: parsed });
  } catch (error) {
    throw toToldFault(service.log, error, { operation: operation.name, requestId: call.requestId });
  }
}

function each<T, R>(inputs: T[], { many }: { many?: boolean }, read: (input: T) => R): R[] {
  return inputs.map((input, index) => {
    try {
      return read(input);
    } catch (error) {
      throw many ? thrownAt(index, error) : error;
    }
  });
}

/** Whether the operation works in a property. */
export function needsProperty(operation: Operation): boolean {
  return operation.realm === "property" || operation.property !== null;
}

/** A key that has been answered says so before the input is refused: it is looked up only then. */
async function insteadOf(error: unknown, call: Omit<Run, "inputs">): Promise<Outcome> {
  const keyed = keyedCall(call);
  const recorded = keyed && (await findAnswer(call, keyed));
  if (recorded) return recorded;
  throw error;
}

/** Why a call is refused that could not be read: its key was answered, which was of another request, or `refusal`. */
export async function refusedUnread(
  service: Service,
  operation: Operation,
  call: Call,
  refusal: Fault,
): Promise<Fault> {
  try {
    const property = needsProperty(operation)
      ? await resolveProperty(service.directory, operation, call, {})
      : null;
    await insteadOf(refusal, { service, operation, call, property });
  } catch (error) {
    const fault = toFault(error);
    if (fault.code === "idempotency_key_reused") return fault;
  }
  return refusal;
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
    const outcome = await run({
      service,
      operation: { ...operation, handler },
      call,
      property,
      inputs: [input],
    });
    const { filename, source } = file!;
    const { contentType } = operation.file!;
    return { ...outcome, file: { filename, contentType, flow: lane.start(source) } };
  } catch (error) {
    lane.release();
    throw error;
  }
}
