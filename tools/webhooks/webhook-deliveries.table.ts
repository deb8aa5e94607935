import { z } from "zod";
import { readable, timestamp } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";

const Attempt = z.object({
  at: timestamp(),
  status_code: z.int().nullable(),
  duration_ms: z.int(),
  error: z.string().nullable(),
  response_snippet: z.string().nullable(),
});

export default table({
  name: "webhook_deliveries",
  noun: "webhook_delivery",
  concise: [
    "event_id",
    "event_type",
    "endpoint_id",
    "status",
    "attempt_count",
    "next_attempt_at",
    "created_at",
  ],
  description:
    "One event on its way to one webhook endpoint, with each attempt. redeliver_webhook sends it again.",
  verbs: ["list", "get"],
  columns: {
    event_id: readable(z.uuid().describe("The body's id without evt_")),
    event_type: readable(z.string()),
    endpoint_id: readable(z.uuid()),
    status: readable(
      z
        .enum(["pending", "delivered", "failed", "discarded"])
        .describe("failed: after the last attempt. discarded: the endpoint was switched off before."),
    ),
    attempt_count: readable(
      z.int().describe("Since it was last made pending; attempts has those before too"),
    ),
    attempts: readable(z.array(Attempt).describe("The last 50")),
    next_attempt_at: readable(timestamp().nullable()),
  },
});
