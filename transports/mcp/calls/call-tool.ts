import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { nearest } from "#db/nearest.ts";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid, loggedFault } from "#runtime/faults.ts";
import { checkAccess, scopesIn, tenantOf, withTenant } from "#runtime/funnel/access.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { type AgentCall, mustConfirm } from "#runtime/funnel/confirmations.ts";
import { readIdempotencyKey } from "#runtime/funnel/idempotency.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { namesIn } from "#runtime/funnel/names.ts";
import type { Outcome, Service } from "#runtime/funnel/service.ts";
import type { Call } from "#runtime/operation/context.ts";
import { foldCasing } from "#runtime/operation/input.ts";
import { mayAsk, type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import { isList, withPaging } from "#runtime/operation/paging.ts";
import type { Table } from "#runtime/operation/table.ts";
import { downloadLink } from "#transports/http/download-link.ts";
import { startOf } from "#transports/http/file-body.ts";
import { DECLINED, errorResult, failureOf, recordedFailure } from "#transports/mcp/answers/errors.ts";
import { fittedResult, MOST_STRUCTURED, sizeOf } from "#transports/mcp/answers/fit-to-tokens.ts";
import { type Format, replayedRefusal, resultOf, type ToolResult } from "#transports/mcp/answers/results.ts";
import { waitingResult } from "#transports/mcp/answers/waiting.ts";
import { hasColumns, withColumns } from "#transports/mcp/listing/columns.ts";
import { FORMATS } from "#transports/mcp/listing/schemas.ts";
import { CallInput, callFault, type OfferedTool } from "#transports/mcp/listing/tools.ts";
import type { Machine, Surface } from "#transports/mcp/listing/visible-tools.ts";
import { doConfirmed, withToken } from "./confirm.ts";
import { searchTools } from "./search-tools.ts";

/** The most bytes of a file that are read. */
const MOST_FILE = MOST_STRUCTURED * 1.4;
/** Reserved for the link. */
const LINK_TOKENS = 2_000;
const fitsFile = (text: string) =>
  sizeOf({ filename: "", text, has_more: true }) <= MOST_STRUCTURED * 0.98 - LINK_TOKENS;

/** One tools/call. */
export interface ToolCall {
  name: string;
  input: Record<string, unknown>;
  /** The fault of its arguments. */
  flaw: Fault | null;
  /** The idempotency keys in `_meta` and in the header. */
  keys: unknown[];
  /** The request, for its data besides the arguments. */
  context: ServerContext;
}

/** Runs a tool. A caller's error becomes an `isError` result that says how to continue. */
export async function callTool(
  machine: Machine,
  surface: Surface,
  call: Call,
  toolCall: ToolCall,
): Promise<ToolResult> {
  if (toolCall.flaw) return errorResult(failureOf(toolCall.flaw), call.requestId, surface);
  if (surface.searchable && toolCall.name === "search_tools")
    return searchTools(machine, surface, call, toolCall.input);
  if (surface.searchable && toolCall.name === "call_tool") {
    const parsed = CallInput.safeParse(toolCall.input);
    if (!parsed.success)
      return errorResult(failureOf(callFault(parsed.error, toolCall.input)), call.requestId, surface);
    const { name, arguments: input } = parsed.data;
    const result = await runNamed(machine, surface, call, { ...toolCall, name, input });
    return fittedResult(result, machine.catalog.operations.get(name));
  }
  const known = machine.catalog.operations.get(toolCall.name);
  if (!known || known.access === "public") throw unknownTool(surface, toolCall.name);
  return fittedResult(await runNamed(machine, surface, call, toolCall), known);
}

function unknownTool(surface: Surface, name: string): ProtocolError {
  const near = nearTools(surface, name);
  const hint = near.length > 0 ? ` Did you mean ${near.join(", ")}?` : "";
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}.${hint}`);
}

/** Tools that a misspelt name may mean; where none is close, those that its words find. */
function nearTools(surface: Surface, name: string): string[] {
  const near = nearest(name, surface.reach.keys());
  if (near.length > 0) return near;
  return surface.search(name, 3).found.map(({ operation }) => operation.name);
}

async function runNamed(
  machine: Machine,
  surface: Surface,
  call: Call,
  toolCall: ToolCall,
): Promise<ToolResult> {
  const operation = machine.catalog.operations.get(toolCall.name);
  const tool = operation && surface.reach.get(operation.name);
  const about = { tool, operation, reach: surface.reach };
  try {
    if (!operation || operation.access === "public") {
      const near = nearTools(surface, toolCall.name);
      throw invalid("name", `no such tool${near.length > 0 ? `; near: ${near.join(", ")}` : ""}`);
    }
    if (!tool) throw refusal(machine, surface, call, operation);
    if (surface.masked && isList(operation) && toolCall.input.format === "csv") {
      // A file is plain text: masking could not recognize names in it.
      throw invalid("format", "csv is not available while personal data is masked; use columns or items");
    }
    const tables = machine.catalog.tables.values();
    return await run(machine.service, { ...about, tool, tables, reach: surface.reach }, call, toolCall);
  } catch (error) {
    const { requestId } = call;
    const fault = loggedFault(machine.service.log, error, { operation: toolCall.name, requestId });
    const failure = failureOf(fault);
    return waitingResult(failure) ?? errorResult(failure, call.requestId, about);
  }
}

/** The reason why an existing tool is out of reach: the credential, or the connection's options. */
function refusal({ surfaces }: Machine, surface: Surface, call: Call, operation: Operation): Fault {
  checkAccess(operation, call);
  const { propertyId: wanted, actor } = call;
  if (wanted !== undefined && actor.type === "user" && scopesIn(actor, wanted).length === 0)
    return new Fault("wrong_property");
  if (!surfaces.allows(call, operation)) return new Fault("insufficient_scope");
  return new Fault("forbidden", {
    message: `${operation.name} is not available on this connection: ${surface.leftOutBy(operation)} leaves it out.`,
  });
}

interface About {
  tool: OfferedTool;
  tables: Iterable<Table>;
  reach: Surface["reach"];
}

async function run(service: Service, about: About, call: Call, toolCall: ToolCall): Promise<ToolResult> {
  const { operation } = about.tool;
  const { input: written, key, format, token } = prepare(operation, call, toolCall);
  const { input, said } = await namesIn(service, about.tables, operation, call, written);
  const mine: Call = key
    ? { ...call, idempotency: { key, fingerprint: canonicalHash({ tool: operation.name, input }) } }
    : call;
  const wanted = { service, operation, call: mine, input };
  let answered: Outcome;
  if (mayAsk(operation) && input.dry_run !== true && (await mustConfirm(wanted))) {
    const answer = await doConfirmed(wanted, {
      token,
      given: toolCall.input,
      context: toolCall.context,
    });
    if ("declined" in answer) return errorResult(DECLINED, call.requestId, { ...about, operation });
    if ("first" in answer) return answer.first;
    answered = answer.outcome;
  } else answered = await invoke(service, operation, mine, input);
  if (answered.file) {
    const start = await startOf(answered.file, MOST_FILE, fitsFile);
    // A masked credential sees no file: the link would give it unmasked.
    const link = call.masked ? {} : downloadLink(service, { operation, call, input });
    answered = { ...answered, body: JSON.stringify({ ...start, rows: answered.file.rows, ...link }) };
  }
  if (operation.zipped && answered.status === 200 && !call.masked) {
    const link = downloadLink(service, { operation, call, input });
    // The link stands first: a long answer is cut at its end.
    answered = { ...answered, body: JSON.stringify({ ...link, ...JSON.parse(answered.body) }) };
  }
  if (answered.status >= 400) {
    const failure = recordedFailure(answered.body);
    const result = waitingResult(failure) ?? errorResult(failure, call.requestId, { ...about, operation });
    return answered.replayed ? replayedRefusal(result) : result;
  }
  if (said.length > 0) answered = { ...answered, warnings: [...said, ...(answered.warnings ?? [])] };
  if (answered.asked && confirms(about)) {
    answered = await withToken(wanted, answered, toolCall.context);
  }
  const options = {
    input,
    format,
    offset: Number(input.offset ?? 0),
    warnings: [...said, ...(answered.page?.warnings ?? [])],
  };
  return fitting(wanted, answered, options);
}

/** Whether this connection reaches a tool that the answer can confirm. */
function confirms({ tool, reach }: About): boolean {
  const { effect, name } = tool.operation;
  return effect === "read" && [...reach.values()].some(({ operation }) => operation.confirmedBy === name);
}

interface Prepared {
  input: Record<string, unknown>;
  key: string | undefined;
  format: Format;
  token: string | undefined;
}

/** The operation's own input: without the transport's arguments, with the credential's property. */
function prepare(operation: Operation, call: Call, { input: raw, keys }: ToolCall): Prepared {
  const { shape } = operation.input;
  const folded = foldCasing(operation, raw);
  const input = hasColumns(operation) ? withColumns(operation, folded) : folded;
  let format: Format = "columns";
  if (isList(operation) && !Object.hasOwn(shape, "format")) {
    format = readFormat(input.format);
    delete input.format;
  }
  let key: string | undefined;
  if (recordsAnswer(operation) && !Object.hasOwn(shape, "idempotency_key")) {
    key = readKey([input.idempotency_key, ...keys]);
    delete input.idempotency_key;
  }
  let token: string | undefined;
  if (mayAsk(operation)) {
    token = readToken(input.confirm_token);
    delete input.confirm_token;
  }
  return { input: withTenant(operation, withPaging(operation, input), tenantOf(call)), key, format, token };
}

function readFormat(given: unknown): Format {
  const format = FORMATS.find((one) => one === (given ?? "columns"));
  if (!format) throw invalid("format", `must be one of ${FORMATS.join(", ")}`);
  return format;
}

function readToken(given: unknown): string | undefined {
  if (given === undefined || typeof given === "string") return given;
  throw invalid("confirm_token", "must be the confirm_token of the preview");
}

function readKey(keys: unknown[]): string | undefined {
  const given = keys.filter((key) => key !== undefined);
  if (given.length === 0) return undefined;
  if (given.some((key) => typeof key !== "string")) throw invalid("idempotency_key", "must be text");
  if (new Set(given).size > 1)
    throw invalid("idempotency_key", "differs from the one in _meta or in the header Idempotency-Key");
  return readIdempotencyKey(given[0] as string);
}

/** Shortens a list's page until an agent can hold it, and says so. Other results stay unchanged. */
async function fitting(
  { service, operation, call, input }: AgentCall,
  outcome: Outcome,
  options: Parameters<typeof resultOf>[2],
): Promise<CallToolResult> {
  const whole = resultOf(operation, outcome, options);
  const canPage = operation.effect === "read" && Object.hasOwn(operation.input.shape, "limit");
  if (!isList(operation) || !canPage) return whole;
  const size = sizeOf(whole.structuredContent as object);
  const rows = size > MOST_STRUCTURED ? (JSON.parse(outcome.body) as unknown[]).length : 0;
  if (rows <= 1) return whole;
  const limit = Math.max(1, Math.floor(((rows * MOST_STRUCTURED) / size) * 0.95));
  const shorter = await invoke(service, operation, call, { ...input, limit });
  const warnings = [
    `The page was shortened to ${counted(limit, "row")}, to stay under 20,000 tokens; go on with the cursor.`,
  ];
  return fitting({ service, operation, call, input }, shorter, { ...options, warnings });
}
