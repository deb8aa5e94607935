import { Fault } from "#runtime/faults.ts";
import { checkValue, parseUnchecked } from "#runtime/operation/input.ts";
import { readBody, readJson } from "#transports/http/body.ts";

/** A message as received, and its fault. */
export interface Message {
  body: unknown;
  /** It is not a valid message. */
  flaw: Fault | null;
  /** The message is valid, but the arguments of its tool cannot be stored: the tool answers that. */
  argumentsFlaw: Fault | null;
}

/** Parses a message. Throws the fault of the request as a whole. */
export async function readMessage(request: Request): Promise<Message> {
  const bytes = await readBody(request);
  let body: unknown;
  try {
    body = readJson(request.headers.get("content-type"), bytes, parseUnchecked);
  } catch (error) {
    if (error instanceof Fault && error.code === "invalid") return unread(error);
    throw error;
  }
  if (body === undefined)
    return unread(new Fault("invalid", { message: "The body is empty. Send a JSON-RPC message." }));
  if (methodOf(body) !== "tools/call") return { body, flaw: flawOf(body), argumentsFlaw: null };
  const { arguments: given, ...beside } = paramsOf(body);
  const message = { ...(body as object), params: beside };
  return { body, flaw: flawOf(message), argumentsFlaw: flawOf(given) };
}

export function methodOf(body: unknown): unknown {
  return typeof body === "object" && body !== null && "method" in body ? body.method : undefined;
}

/** The value under a key of a message's `_meta`. */
export function metaOf(body: unknown, key: string): unknown {
  return (paramsOf(body)._meta as Record<string, unknown> | null | undefined)?.[key];
}

function paramsOf(body: unknown): Record<string, unknown> {
  const { params } = (body ?? {}) as { params?: unknown };
  return typeof params === "object" && params !== null ? (params as Record<string, unknown>) : {};
}

function unread(flaw: Fault): Message {
  return { body: undefined, flaw, argumentsFlaw: null };
}

function flawOf(value: unknown): Fault | null {
  try {
    checkValue(value);
    return null;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}
