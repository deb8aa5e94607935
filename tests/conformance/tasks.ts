import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { type Operation, tool } from "#runtime/operation/operation.ts";
import type { Work } from "#transports/mcp/subscriptions/tasks.ts";

const View = z.object({
  id: z.uuid(),
  status: z.enum(["working", "done", "cancelled"]),
  error: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});

interface Slow {
  began: number;
  ends: number;
  error: string | null;
  cancelled: boolean;
}

const slow = new Map<string, Slow>();

function begin(seconds: number, error: string | null = null) {
  const id = randomUUIDv7();
  slow.set(id, { began: Date.now(), ends: Date.now() + seconds * 1000, error, cancelled: false });
  return viewOf(id);
}

function viewOf(id: string): z.output<typeof View> {
  const one = slow.get(id);
  if (!one) throw new Fault("not_found");
  const created_at = new Date(one.began).toISOString();
  const status = one.cancelled ? "cancelled" : Date.now() < one.ends ? "working" : "done";
  return { id, status, error: status === "done" ? one.error : null, created_at, updated_at: created_at };
}

const common = { scope: "read", effect: "read", core: true, faults: ["not_found"] } as const;
const byId = { id: z.uuid().describe("The work's id") };

/** Work that takes its time, and what reads and ends it. */
export const TASK_TOOLS: Operation[] = [
  tool({
    ...common,
    name: "greet",
    title: "Greet",
    description: "Greets at once.",
    input: { name: z.string().describe("Whom") },
    output: z.object({ greeting: z.string() }),
    handler: async (_, { name }) => ({ greeting: `Hello, ${name}!` }),
  }),
  tool({
    ...common,
    name: "slow_compute",
    title: "Compute slowly",
    description: "Takes its time.",
    input: {
      seconds: z.number().min(0).max(600).describe("How long"),
      label: z.string().optional().describe("Passed over"),
    },
    output: View,
    handler: async (_, { seconds }) => begin(seconds),
  }),
  tool({
    ...common,
    name: "failing_job",
    title: "Fail in the background",
    description: "Starts, and fails.",
    input: {},
    output: View,
    handler: async () => begin(0.2, "it always fails"),
  }),
  tool({
    ...common,
    name: "get_slow_work",
    title: "Get slow work",
    description: "Reads it.",
    input: byId,
    output: View,
    handler: async (_, { id }) => viewOf(id),
  }),
  tool({
    ...common,
    name: "cancel_slow_work",
    title: "Cancel slow work",
    description: "Ends it.",
    input: byId,
    output: View,
    handler: async (_, { id }) => {
      viewOf(id);
      slow.get(id)!.cancelled = true;
      return viewOf(id);
    },
  }),
];

export const SLOW: Work = {
  starts: ["slow_compute", "failing_job"],
  get: "get_slow_work",
  cancel: "cancel_slow_work",
  cancelId: "id",
  recordIn: (answered) => answered,
  answerWith: (record) => record,
  since: ({ created_at }) => created_at,
  progressOf: ({ status, error }) => {
    if (status === "working" || status === "cancelled") return { status };
    return typeof error === "string" ? { failed: error } : { status: "completed" };
  },
};
