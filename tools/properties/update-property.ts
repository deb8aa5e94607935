import { z } from "zod";
import { assignments } from "#db/sql.ts";
import { invalid } from "#runtime/faults.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";
import { fieldWords } from "#runtime/operation/record-words.ts";
import { refuseAgents } from "./agent-confirmation.ts";
import { refuseUnlessAdmin } from "./approval-limits.ts";
import { given, PropertyView, propertyColumns, settings } from "./property.ts";

const optional = z.object(settings).partial().shape;

/** Settings that messages show, or by which players get them: an approved campaign is another one with others. */
const IN_MESSAGES: ReadonlySet<string> = new Set([
  ...["name", "legal_name", "postal_address", "responsible_gaming_footer", "privacy_policy_url"],
  ...["sms_opt_out_text", "from_email", "from_name"],
  ...["min_age", "email_consent_mode", "tracking"],
]);
const PAUSES =
  "Campaigns that were approved with other settings pause when they fire, or in the middle of their sending. Approve them again: schedule them anew, or resume them.";

export default tool({
  name: "update_property",
  title: "Change the property's settings",
  description:
    "Changes the given settings. Only a signed-in manager or the operator's command line may call it, not an API key. Every marketing email needs legal_name and postal_address; preflight_campaign lists missing settings.",
  scope: "write",
  effect: "change",
  asks: true,
  access: "manager",
  realm: "system",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    name: z.string().trim().min(1).max(200).optional().describe("As people call the casino"),
    ...optional,
  },
  output: PropertyView,
  faults: ["invalid"],
  async handler({ sql, property, call, audit, ask, warn }, { propertyId: _, ...input }) {
    refuseAgents(call, input.agent_confirmation);
    refuseUnlessAdmin(call, property.id, input);
    const changes = given(input);
    if (Object.keys(changes).length === 0) throw invalid("body", "names no setting to change");
    const sentence = `These settings hold for every message of ${JSON.stringify(property.name)}: ${fieldWords(changes)}.`;
    const shown = Object.keys(changes).filter((name) => IN_MESSAGES.has(name));
    ask?.({ sentences: () => [sentence, ...(shown.length > 0 ? [PAUSES] : [])] });
    if (shown.length > 0) warn?.(PAUSES);
    const [row] = await sql<PropertyView[]>`
      update properties set ${assignments(changes)}, updated_at = now()
      where id = ${property.id} returning ${propertyColumns()}`;
    await directoryChanged(sql);
    audit({ entity: "properties", entityId: property.id, diff: { changed: Object.keys(changes) } });
    return row!;
  },
});
