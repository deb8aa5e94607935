import type { Fault } from "#runtime/faults.ts";
import { answer, type Frame } from "#transports/http/answer.ts";

export const INVALID_PARAMS = -32_602;
export const PARSE_ERROR = -32_700;

interface RpcError {
  code: number;
  message: string;
  data?: object;
}

/** The JSON-RPC error that answers a message, under the message's own id. */
export function rpcError(
  frame: Frame,
  status: number,
  error: RpcError,
  body: unknown,
  headers: Record<string, string> = {},
): Response {
  return answer(frame, status, JSON.stringify({ jsonrpc: "2.0", id: idOf(body), error }), { headers });
}

/** The JSON-RPC error for a fault of the service. */
export function faultAnswer(frame: Frame, fault: Fault, body: unknown, code = codeOf(fault)): Response {
  const { status, message, details } = fault;
  const headers = status === 405 ? { Allow: "POST" } : {};
  return rpcError(frame, status, { code, message, data: { code: fault.code, details } }, body, headers);
}

function codeOf({ status }: Fault): number {
  return status === 400 ? INVALID_PARAMS : status >= 500 ? -32_603 : -32_000;
}

function idOf(body: unknown): string | number | null {
  const id = typeof body === "object" && body !== null && "id" in body ? body.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
