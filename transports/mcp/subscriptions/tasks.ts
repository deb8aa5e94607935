import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  isInputRequiredResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { counted } from "#runtime/counted.ts";
import { Fault } from "#runtime/faults.ts";
import { tenantOf, withTenant } from "#runtime/funnel/access.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { visible } from "#runtime/visible-text.ts";
import { fittedResult } from "#transports/mcp/answers/fit-to-tokens.ts";
import { maskedResult } from "#transports/mcp/answers/masking.ts";
import type { ToolResult } from "#transports/mcp/answers/results.ts";

import { absent, answerOf, type ResourceRequest } from "#transports/mcp/resources/resources.ts";

/** The extension of SEP-2663, which the SDK leaves to servers. */
export const TASKS = "io.modelcontextprotocol/tasks";

const POLL_MS = 2_000;

type Row = Readonly<Record<string, unknown>>;

/** The state of a record's work; null without work. */
type Progress = { status: "working" | "completed" | "cancelled"; said?: string } | { failed: string } | null;

/** Work that continues after the call that started it: the task's id is its record's. */
export interface Work {
  /** The tools that start it. */
  starts: readonly string[];
  /** The tool that reads its record by `id`, and the tool that ends it. */
  get: string;
  cancel: string;
  /** The name of the id in that tool. */
  cancelId: string;
  /** The record in the answer of a start, and the answer of a start with this record. */
  recordIn(answered: Row): unknown;
  answerWith(record: Row): Row;
  progressOf(record: Row): Progress;
  /** The start of the work, if the record has it. */
  since(record: Row): unknown;
}

const jobs = (noun: string): Work => ({
  starts: [`create_${noun}`],
  get: `get_${noun}`,
  cancel: `delete_${noun}`,
  cancelId: "id",
  recordIn: (answered) => answered,
  answerWith: (record) => record,
  since: ({ created_at }) => created_at,
  progressOf: ({ status, error, processed, total }) => {
    if (status === "completed") return { status };
    if (status === "failed")
      return error === "cancelled" ? { status: "cancelled" } : { failed: String(error) };
    const said = `${status}: ${processed ?? 0}${total === null ? "" : ` of ${total}`} rows`;
    return status === "queued" || status === "processing" ? { status: "working", said } : null;
  },
});

const sending: Work = {
  starts: ["send_campaign", "send_sms_campaign"],
  get: "get_campaign",
  cancel: "cancel_campaign",
  cancelId: "campaignId",
  recordIn: ({ campaign }) => campaign,
  answerWith: (campaign) => ({ success: true, campaign }),
  since: ({ started_at, updated_at }) => started_at ?? updated_at,
  progressOf: ({ status, status_reason, audience_count }) => {
    if (status === "sent") return { status: "completed" };
    if (status === "cancelled") return { status };
    if (status === "failed") return { failed: String(status_reason) };
    const working = status === "queued" || status === "sending" || status === "paused";
    return working
      ? { status: "working", said: `${status}: ${counted(Number(audience_count), "recipient")} planned` }
      : null;
  },
};

/** A call of any tool that waits for a person's approval. */
export const PROPOSED: Work = {
  starts: [],
  get: "get_proposal",
  cancel: "withdraw_proposal",
  cancelId: "proposalId",
  recordIn: ({ approval_required, proposal }) => (approval_required === true ? proposal : undefined),
  answerWith: (proposal) => ({ success: true, proposal }),
  since: ({ created_at }) => created_at,
  progressOf: ({ status, reason, expires_at }) => {
    if (status === "waiting")
      return { status: "working", said: `waits for a person's approval until ${expires_at}` };
    if (status === "approved") return { status: "completed" };
    if (status === "withdrawn") return { status: "cancelled" };
    const ended = status === "refused" || status === "expired" || status === "stale";
    return ended ? { failed: `${status}: ${reason}` } : null;
  },
};

/** The kinds of work that are tasks for clients with the extension. */
export const WORKS: readonly Work[] = [jobs("import_job"), jobs("validation_job"), sending, PROPOSED];

/** Whether this request's client has declared the extension. */
export function knowsTasks({ mcpReq }: ServerContext): boolean {
  const envelope: Record<string, unknown> | undefined = mcpReq.envelope;
  const able = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return able?.extensions?.[TASKS] !== undefined;
}

/** -32021, for a client that calls tasks without declaring the extension. */
export function missingTasks(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
}

/** The task that a call has started, in place of its answer; null where no work goes on after the call. */
export async function startedTask(
  reading: ResourceRequest,
  work: Work,
  result: ToolResult,
): Promise<CallToolResult | null> {
  const { surface } = reading;
  if (isInputRequiredResult(result)) return null;
  const { structuredContent, isError } = result;
  const started = work.recordIn((structuredContent ?? {}) as Row);
  const isNamed = work === PROPOSED && isRow(started);
  const record = isNamed ? await answerOf(reading, work.get, { id: started.id }) : started;
  if (isError || !isRow(record) || !surface.reach.has(work.get)) return null;
  const progress = work.progressOf(record);
  if (progress === null || "failed" in progress || progress.status !== "working") return null;
  // The SDK requires content in an answer to tools/call.
  return { resultType: "task", ...taskOf(work, record, progress), content: [] };
}

/** The methods of the extension, for clients that declare it. They throw -32602 for an id that is no task here. */
export const TASK_METHODS: Readonly<
  Record<
    string,
    (reading: ResourceRequest, works: readonly Work[], id: string) => Promise<Record<string, unknown>>
  >
> = {
  "tasks/get": async (reading, works, id) => {
    const { work, record, progress } = await find(reading, works, id);
    const task = taskOf(work, record, progress);
    if (task.status !== "completed") return task;
    const title = record.title ?? reading.machine.catalog.operations.get(work.starts[0]!)?.title;
    const result = endOf(`${title}`, work.answerWith(record), progress);
    const shown = reading.surface.masked ? maskedResult(result) : result;
    return { ...task, result: fittedResult(shown) };
  },
  // Our tasks ask their client nothing, so answers to them are ignored.
  "tasks/update": async (reading, works, id) => {
    await find(reading, works, id);
    return {};
  },
  "tasks/cancel": async (reading, works, id) => {
    const { work, progress } = await find(reading, works, id);
    if ("failed" in progress || progress.status !== "working") return {};
    const { machine, surface, call } = reading;
    const operation = surface.reach.get(work.cancel)?.operation;
    if (!operation)
      throw new Fault("forbidden", { message: `This connection has no access to ${work.cancel}.` });
    const input = withTenant(operation, { [work.cancelId]: id }, tenantOf(call));
    await invoke(machine.service, operation, call, input).catch(endedBefore);
    return {};
  },
};

interface Found {
  work: Work;
  record: Row;
  progress: NonNullable<Progress>;
}

async function find(reading: ResourceRequest, works: readonly Work[], id: string): Promise<Found> {
  for (const work of works) {
    if (!reading.surface.reach.has(work.get)) continue;
    const record = await answerOf(reading, work.get, { id }).catch(absent);
    if (!isRow(record)) continue;
    const progress = work.progressOf(record);
    if (progress) return { work, record, progress };
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Failed to retrieve task: Task not found");
}

/** It ended by itself between the read and the cancellation. */
function endedBefore(error: unknown): void {
  if (!(error instanceof Fault && error.code === "conflict")) throw error;
}

/** Failed work is a completed task whose result holds the error: `failed` is reserved for errors of the protocol. */
function taskOf(work: Work, record: Row, progress: NonNullable<Progress>) {
  const [status, said] =
    "failed" in progress ? (["completed", "failed"] as const) : [progress.status, progress.said];
  const created = String(work.since(record));
  const expires = record.expires_at;
  return {
    taskId: String(record.id),
    status,
    ...(said !== undefined && { statusMessage: said }),
    createdAt: created,
    lastUpdatedAt: String(record.updated_at),
    ttlMs: typeof expires === "string" ? Date.parse(expires) - Date.parse(created) : null,
    pollIntervalMs: POLL_MS,
  };
}

function endOf(title: string, structuredContent: Row, progress: NonNullable<Progress>): CallToolResult {
  const failed = "failed" in progress;
  const text = failed ? `${title}: failed. ${JSON.stringify(visible(progress.failed))}` : `${title}: done.`;
  return { structuredContent, content: [{ type: "text", text }], ...(failed && { isError: true }) };
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && "id" in value;
}
