import type { Domain } from "#runtime/operation/catalog.ts";
import complianceCheck from "./compliance-check.ts";
import createSelfExclusion from "./create-self-exclusion.ts";
import deleteDncEntry from "./delete-dnc-entry.ts";
import deleteSuppression from "./delete-suppression.ts";
import dncEntries from "./dnc-entries.table.ts";
import frequencyRules from "./frequency-rules.table.ts";
import quietHoursRules from "./quiet-hours-rules.table.ts";
import selfExclusions from "./self-exclusions.table.ts";
import suppressions from "./suppressions.table.ts";

/** The rules and lists that bar messages. The catalog adds the operations that explain it over campaigns. */
export const compliance = {
  name: "compliance",
  title: "Compliance, suppression and do-not-call",
  tables: [dncEntries, frequencyRules, quietHoursRules, selfExclusions, suppressions],
  tools: [complianceCheck, createSelfExclusion, deleteDncEntry, deleteSuppression],
} satisfies Domain;
