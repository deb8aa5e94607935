import { z } from "zod";
import { formOfValues } from "#db/query/forms.ts";
import { sql } from "#db/sql.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { type ColumnRules, table } from "#runtime/operation/table.ts";
import { type CallOutcome, OUTCOMES } from "#tools/voice/engine/outcomes.ts";
import { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { PERSONAS } from "#tools/voice/simulator/personas.ts";

/** The statuses of a call that is under way. */
export const OPEN_CALLS = ["queued", "ringing", "in_progress"] as const;
export const CALL_STATUSES = [...OPEN_CALLS, "ended", "unknown"] as const;

/** The vendor's id of a call `c` that is over, as SQL: that of an erased person was needed to end it, and goes. */
export const ENDED_CALL_ID = sql`case when c.anon_id is null then c.provider_call_id end`;

const text = (rules?: ColumnRules) => readable(z.string().nullable(), rules);

export default table({
  name: "voice_calls",
  noun: "voice_call",
  description:
    "A call of a campaign or a journey, with its transcript. simulated: the built-in simulator played it with a made-up person; nobody was called, and it counts as no contact.",
  verbs: ["list", "get"],
  columns: {
    send_id: readable(z.uuid().describe("Of campaign_sends"), { concise: true }),
    campaign_id: readable(z.uuid().nullable().describe("null: a test"), { concise: true }),
    player_id: readable(z.uuid().nullable(), { concise: true }),
    provider: readable(z.string(), { concise: true, vocabulary: true }),
    provider_id: readable(z.uuid().nullable()),
    provider_call_id: text(),
    simulated: readable(z.boolean().describe("true: nobody was called"), { concise: true }),
    persona: readable(z.string().nullable().describe("The made-up person of a simulated call"), {
      concise: true,
      form: formOfValues(Object.keys(PERSONAS)),
    }),
    status: readable(
      z
        .enum(CALL_STATUSES)
        .describe(
          "unknown: the vendor has told no end of the call, see error_message; it is never placed again",
        ),
      { concise: true },
    ),
    outcome: readable(
      z
        .enum(Object.keys(OUTCOMES) as [CallOutcome, ...CallOutcome[]])
        .nullable()
        .describe("abandoned: a person picked up and heard nothing in time. See docs://guides/voice"),
      { concise: true },
    ),
    answered_by: readable(
      z.enum(["human", "machine"]).nullable().describe("Of a simulated call: the part that was played"),
      { concise: true },
    ),
    started_at: readable(timestamp().nullable().describe("When it was answered"), { concise: true }),
    disclosed_at: readable(
      timestamp()
        .nullable()
        .describe(
          "When the person was told who calls and how to stop it. Of a real call without it: abandoned",
        ),
    ),
    stopped_at: readable(
      timestamp()
        .nullable()
        .describe("When the vendor was told to end it, because the person was barred in mid-call"),
    ),
    ended_at: readable(timestamp().nullable(), { concise: true }),
    seconds: readable(z.int().nullable().describe("From the answer to the end"), { concise: true }),
    transcript: readable(z.array(TranscriptLine)),
    cost: readable(z.number().nullable().describe("null: unknown, or a simulated call")),
    cost_currency: text({ vocabulary: true }),
    error_code: text({ vocabulary: true }),
    error_message: text(),
  },
});
