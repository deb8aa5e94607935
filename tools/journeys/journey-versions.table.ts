import { z } from "zod";
import { formOfValues, HASH_FORM } from "#db/query/forms.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { QUIET_ACTIONS } from "#tools/compliance/quiet-hours-rules.table.ts";
import { SENT_BY_FORM } from "#tools/people/address.ts";
import { ExitConditions, JourneyGoal, Reentry } from "./definition/definition.ts";
import { DraftDefinition } from "./definition/draft.ts";

export default table({
  name: "journey_versions",
  noun: "journey_version",
  description:
    "A version is a published definition of a journey with the texts, segments and fields as they were then. It never changes; people stay in the version that they entered.",
  verbs: ["list", "get"],
  columns: {
    journey_id: readable(z.uuid(), { concise: true }),
    version: readable(z.int(), { concise: true }),
    definition: readable(DraftDefinition),
    definition_hash: readable(z.string().describe("SHA-256 of the definition"), {
      concise: true,
      form: HASH_FORM,
    }),
    reentry: readable(Reentry),
    goal: readable(JourneyGoal.nullable()),
    exit_conditions: readable(ExitConditions.nullable()),
    ends_at: readable(timestamp().nullable()),
    quiet_hours: readable(z.enum(QUIET_ACTIONS)),
    channels: readable(z.array(z.string()).describe("The channels of its messages"), {
      concise: true,
      form: SENT_BY_FORM,
    }),
    published_at: readable(timestamp(), { concise: true, sql: "created_at" }),
    published_by_type: readable(z.string(), {
      concise: true,
      form: formOfValues(["user", "api_key", "system"]),
    }),
    published_by: readable(z.uuid().nullable(), { concise: true }),
  },
});
