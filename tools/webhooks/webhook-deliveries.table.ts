import { z } from "zod";
import { formOfValues } from "#db/query/forms.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { EVENT_NAMES } from "#runtime/operation/events.ts";
import { table } from "#runtime/operation/table.ts";

const Attempt = z.object({
  at: timestamp(),
  status_code: z.int().nullable(),
  duration_ms: z.int(),
  error: z.string().nullable(),
  response_snippet: z.string().nullable(),
});
export type Attempt = z.output<typeof Attempt>;

const DAY = 86_400_000;

export default table({
  name: "webhook_deliveries",
  noun: "webhook_delivery",
  description:
    "A webhook delivery sends one event to one endpoint, and lists each attempt. redeliver_webhook sends it again.",
  monthly: { lag: DAY },
  verbs: ["list", "get"],
  columns: {
    event_id: readable(z.uuid().describe("The body's id without evt_"), { concise: true }),
    event_type: readable(z.string(), { concise: true, form: formOfValues(EVENT_NAMES) }),
    endpoint_id: readable(z.uuid(), { concise: true }),
    status: readable(
      z
        .enum(["pending", "delivered", "failed", "discarded"])
        .describe("failed: after the last attempt. discarded: the endpoint was switched off before."),
      { concise: true },
    ),
    attempt_count: readable(
      z.int().describe("Since it last became pending; attempts lists earlier ones too"),
      { concise: true },
    ),
    attempts: readable(z.array(Attempt).describe("The last 50")),
    next_attempt_at: readable(timestamp().nullable(), { concise: true }),
  },
});
