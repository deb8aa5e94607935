import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Fault, FaultCode } from "#runtime/faults.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { oneLine, visible } from "#runtime/visible-text.ts";
import type { OfferedTool } from "#transports/mcp/listing/tools.ts";

/** A failure in the form that helps an agent to continue. */
export interface Failure {
  code: string;
  message: string;
  details?: { field: string; message: string }[] | undefined;
  retryAfter?: number | undefined;
}

const MOST_NEXT = 5;
const RETRYABLE = new Set<string>([
  "rate_limited",
  "internal",
  "unavailable",
  "idempotency_key_in_use",
  "request_timeout",
]);

const SUGGESTIONS: Partial<Record<FaultCode, string>> = {
  invalid: "Correct the fields in details and call again.",
  wrong_property: "Leave the property out: it follows from the credential.",
  not_found: "Look the id up first, in this property.",
  conflict: "Read the record's current state, then decide.",
  invalid_credential: "Ask for the right one; do not guess.",
  not_eligible: "Do not call again for this player: the message names the rule that bars them.",
  play_limit_reached:
    "Call again after retry_after seconds, where it is given; else the player needs another play.",
  game_not_active: "Read the game's status and times first: get_game has them.",
  legal_hold: "Ask the property's people to release the hold first.",
  precondition_failed: "Read the record again, then decide.",
  forbidden: "Ask for a connection or a credential that offers this, or do it another way.",
  too_large: "Ask for less: a filter, fewer columns, a smaller limit.",
  rate_limited: "Wait retry_after seconds, then call again.",
  idempotency_key_reused: "Repeat the first call exactly, or use a new idempotency_key.",
  idempotency_key_in_use: "Wait retry_after seconds, then call again with the same idempotency_key.",
  internal: "Call again in a moment; a write with the same idempotency_key.",
  unavailable: "Call again in a moment; a write with the same idempotency_key.",
};

/** The human refused. */
export const DECLINED: Failure = {
  code: "declined",
  message: "The person did not confirm. Nothing was done.",
};

/** A fault as a failure. */
export function failureOf(fault: Fault): Failure {
  return { code: fault.code, message: fault.message, details: fault.details, retryAfter: fault.retryAfter };
}

/** A recorded answer as a failure. */
export function recordedFailure(body: string): Failure {
  const { error, code, details, retry_after } = JSON.parse(body);
  return { code, message: error, details, retryAfter: retry_after };
}

/** An `isError` result: the fault, the next step, and the tools for it. */
export function errorResult(
  failure: Failure,
  requestId: string,
  about: {
    tool?: OfferedTool | undefined;
    operation?: Operation | undefined;
    reach: ReadonlyMap<string, unknown>;
  },
): CallToolResult {
  const { code, details = [], retryAfter } = failure;
  const message = oneLine(visible(sentenceOf(failure)));
  const suggestion = suggestionFor(failure, about);
  const next = about.tool ? nextTools(about.tool, failure, about.reach) : [];
  const text = [
    `${code}: ${message}`,
    ...(suggestion ? [suggestion] : []),
    ...(next.length > 0 ? [`Next: ${next.join(", ")}`] : []),
  ];
  return {
    isError: true,
    structuredContent: {
      code,
      message,
      details: details.map((detail) => ({ field: visible(detail.field), message: visible(detail.message) })),
      retryable: RETRYABLE.has(code),
      ...(retryAfter !== undefined && { retry_after: retryAfter }),
      suggestion,
      next_tools: next,
      request_id: requestId,
    },
    content: [{ type: "text", text: text.join("\n") }],
  };
}

/** Where the message is the code itself, the first detail says it in words. */
function sentenceOf({ code, message, details = [] }: Failure): string {
  const [said] = details;
  return message === code && said ? `${said.field} ${said.message}` : message;
}

function suggestionFor(
  { code, details = [] }: Failure,
  { tool, operation }: { tool?: OfferedTool | undefined; operation?: Operation | undefined },
): string {
  if (operation?.access === "person" && code === "forbidden") {
    return "Ask a manager of the property to do it in the console. No tool can.";
  }
  if (operation && operation.access !== "property" && /^(forbidden|invalid_credential)$/.test(code)) {
    const command = `npm run tool -- ${operation.name.replaceAll("_", "-")}`;
    const way = operation.access === "user" ? "" : ` The operator of the service can: ${command}.`;
    return `This needs a signed-in user's token; an API key cannot do it.${way}`;
  }
  if (code === "insufficient_scope") {
    return `Use a credential with the ${operation?.scope ?? "write"} scope.`;
  }
  if (code === "declined") return "Ask them what they want instead; do not call again before they say so.";
  if (details.some(({ field }) => field === "confirm_token")) {
    return "Call again without confirm_token: that does nothing, and answers a preview with a new token.";
  }
  const general = SUGGESTIONS[code as FaultCode] ?? "";
  if (tool && code === "invalid" && details.some(({ message }) => message.startsWith("unknown field"))) {
    const known = Object.keys(tool.inputSchema.properties);
    return `${general}${known.includes("filters") ? filterHint(details) : ""} Known fields: ${known.join(", ")}.`;
  }
  return general;
}

/** REST takes a filter as a field of the address, `tier.eq`, so agents try that too. */
function filterHint(details: readonly { field: string }[]): string {
  const filter = details.find(({ field }) => /^\w+\.\w+$/.test(field));
  return filter ? ` A filter stands in filters: {"${filter.field}": …}.` : "";
}

/** The tools in the description of the faulty field, then those of the same table. */
function nextTools(
  { operation, sources }: OfferedTool,
  failure: Failure,
  reach: ReadonlyMap<string, unknown>,
): string[] {
  if (!["invalid", "not_found", "conflict"].includes(failure.code)) return [];
  const fields = new Set((failure.details ?? []).map(({ field }) => field.split(/[.[]/)[0] ?? field));
  const wrong = [...sources].filter(([field]) => fields.size === 0 || fields.has(field));
  const table = operation.crud?.table;
  const beside =
    table && failure.code !== "invalid"
      ? [...(failure.code === "conflict" ? [`get_${table.noun}`] : []), `list_${table.name}`]
      : [];
  const names = new Set([...wrong.flatMap(([, tools]) => tools), ...beside]);
  names.delete(operation.name);
  return [...names].filter((name) => reach.has(name)).slice(0, MOST_NEXT);
}
