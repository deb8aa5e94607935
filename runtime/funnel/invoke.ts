import { NIL_UUID } from "#db/types.ts";
import { type Fault, loggedFault, thrownAt, toFault } from "#runtime/faults.ts";
import { needsProperty } from "#runtime/funnel/access.ts";
import { inShare } from "#runtime/limits/shares.ts";
import type { Call, Context } from "#runtime/operation/context.ts";
import { asObject, foldCasing, parseInput } from "#runtime/operation/input.ts";
import type { File, Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { currentActivity } from "#runtime/telemetry/activity.ts";
import { toolCalls } from "#runtime/telemetry/metrics.ts";
import { callerOf, checkAccess, checkReads, inProperty, resolveProperty, withMasking } from "./access.ts";
import { maskedOutcome, refusePastMasking } from "./masking.ts";
import { findAnswer } from "./recorded-refusals.ts";
import type { Choose, Outcome, Service } from "./service.ts";
import { keyedCall, type Run } from "./transaction.ts";
import { run } from "./unit-of-work.ts";

/**
 * The only way to run an operation. It checks scope and property, and parses the input. One transaction holds the
 * idempotency record, the handler, outbox, queue and audit. Several inputs run in the one transaction, and answer an
 * array. With `choose` the one input, which has no id, applies to each row that it locks; a removal answers those
 * rows. A `dry` call is rolled back, and answered all the same.
 */
export async function invoke(
  service: Service,
  operation: Operation,
  call: Call,
  raw: unknown,
  options: Options = {},
): Promise<Outcome> {
  const labels = { tool: operation.name, transport: call.transport };
  const ended = toolCalls.startTimer(labels);
  const activity = currentActivity();
  if (activity) activity.operation = operation.name;
  try {
    const outcome = await perform(service, operation, call, raw, options);
    ended({ outcome: "ok" });
    return outcome;
  } catch (error) {
    const about = { operation: operation.name, requestId: call.requestId };
    const fault = loggedFault(service.log, error, about);
    ended({ outcome: fault.code });
    throw fault;
  }
}

interface Options {
  many?: boolean;
  choose?: Choose;
  dry?: boolean;
}

async function perform(
  service: Service,
  operation: Operation,
  asked: Call,
  raw: unknown,
  options: Options,
): Promise<Outcome> {
  checkAccess(operation, asked);
  const given = each(options.many ? (raw as unknown[]) : [raw], options, (one) =>
    foldCasing(operation, asObject(one)),
  );
  asked.onFields?.(given.flatMap((input) => Object.keys(input)));
  const property = needsProperty(operation)
    ? await resolveProperty(service.directory, operation, asked, given)
    : null;
  if ((options.choose || operation.merges === "all") && property) checkReads(asked.actor, property.id);
  const call = withMasking(asked, property);
  if (call.masked) refusePastMasking(operation, given);
  const outcome = await performIn({ service, operation, call, property, ...options }, given);
  return call.masked ? maskedOutcome(operation, outcome) : outcome;
}

async function performIn(unparsed: Omit<Run, "inputs">, given: Record<string, unknown>[]): Promise<Outcome> {
  const { service, operation, call, property, choose } = unparsed;
  const activity = currentActivity();
  const inputs = property ? given.map((input) => inProperty(operation, input, property.id)) : given;
  if (activity) activity.propertyId = property?.id;
  let parsed: Record<string, unknown>[];
  try {
    parsed = each(inputs, unparsed, (input) =>
      parseInput(operation, choose ? { ...input, id: NIL_UUID } : input),
    );
  } catch (error) {
    return await insteadOf(error, unparsed);
  }
  if (operation.read) return await read(service, operation, call, property!, parsed[0]!);
  if (operation.file) return await flowing(service, operation, call, property!, parsed[0]!);
  const running = () => run({ ...unparsed, inputs: parsed });
  return operation.heavy && property ? await inShare(property.id, running) : await running();
}

function each<T, R>(inputs: T[], { many }: { many?: boolean | undefined }, read: (input: T) => R): R[] {
  return inputs.map((input, index) => {
    try {
      return read(input);
    } catch (error) {
      throw many ? thrownAt(index, error) : error;
    }
  });
}

/** A refused input whose key was answered before gets that answer: the key is looked up only then. */
async function insteadOf(error: unknown, call: Omit<Run, "inputs">): Promise<Outcome> {
  const keyed = keyedCall(call);
  const recorded = keyed && (await findAnswer(call, keyed));
  if (recorded) return recorded;
  throw error;
}

/**
 * The refusal of a call whose input could not be read: `refusal`, or that of its key, which belongs to another
 * request.
 */
export async function refusedUnread(
  service: Service,
  operation: Operation,
  call: Call,
  refusal: Fault,
): Promise<Fault> {
  try {
    const property = needsProperty(operation)
      ? await resolveProperty(service.directory, operation, call, [])
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
  call: Call,
  property: Property,
  input: Record<string, unknown>,
): Promise<Outcome> {
  const page = await operation.read!(service.reader.of(callerOf(call)), property, input, service.db);
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
  // The slot comes first: only an export with a slot is recorded as done.
  const slot = await service.db.exportSlot(property.id, callerOf(call));
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
    const { filename, source, rows } = file!;
    const { contentType } = operation.file!;
    return { ...outcome, file: { filename, contentType, rows, stream: slot.start(source) } };
  } catch (error) {
    slot.release();
    throw error;
  }
}
