import type { JsonSchema, ObjectSchema } from "./schemas.ts";
import type { ToolText } from "./tools.ts";

/** The tools that agents read first: all that the guide names, and the ones that people ask for most. */
export const FIRST_TOOLS: ReadonlySet<string> = new Set([
  "list_players",
  "get_player",
  "export_players",
  "create_import_job",
  "get_import_job",
  "list_import_errors",
  "segment_preview",
  "create_segment",
  "create_campaign",
  "preflight_campaign",
  "send_test_message",
  "send_campaign",
  "send_sms_campaign",
  "schedule_campaign",
  "pause_campaign",
  "campaign_stats",
  "consent_record",
  "consent_revoke",
  "compliance_check",
  "explain_eligibility",
  "data_export",
  "data_deletion",
]);

/** The tool whose description shows the form of rule rows. The others refer to it. */
const RULES = "segment_preview";
const REFERENCE = `As in ${RULES}`;
/** The reference of its own groups, whose rows have the form of its conditions. */
const OWN_REFERENCE = "As in conditions";
/** The server's own errors name these limits. */
const LIMITS = ["maxLength", "maxItems", "minItems", "maxProperties"];
/** The guide explains them once. */
const EXPLAINED = ["idempotency_key", "confirm_token", "dry_run"];
/** The list whose description shows how every list is read. */
const LIST = "list_players";
const READING = ["format", "fields", "detail", "cursor", "limit", "order", "filters", "count"];
/** Fields that few calls need. They are taken all the same, and the description says where they are described. */
const RARE: Readonly<Record<string, readonly string[]>> = {
  create_campaign: [
    "archived_at",
    "scheduled_at",
    "max_send_errors",
    "expires_after_hours",
    "throttle_per_minute",
    "priority",
    "from_name",
    "from_email",
    "reply_to",
    "provider_id",
    "utm",
    "inbox",
  ],
  // An agent's confirmation holds for the state that it was shown.
  send_campaign: ["fingerprint"],
  send_sms_campaign: ["fingerprint"],
  schedule_campaign: ["fingerprint"],
};

/** A tool in fewer tokens, for a list that many agents read. `search_tools` has its whole schema. */
export function terse({ outputSchema: _, ...text }: ToolText): ToolText {
  const known = [...EXPLAINED, ...(text.name.startsWith("list_") && text.name !== LIST ? READING : [])];
  const rare = RARE[text.name] ?? [];
  const shown = Object.entries(text.inputSchema.properties).filter(([name]) => !rare.includes(name));
  const { $defs } = text.inputSchema;
  const properties = shown.map(([name, schema]) => {
    const { description, ...rest } = brief(schema, text.name === RULES ? null : REFERENCE) as JsonSchema;
    return [
      name,
      known.includes(name) ? rest : { ...rest, ...(description !== undefined && { description }) },
    ];
  });
  return {
    ...text,
    ...(rare.length > 0 && {
      description: `${text.description} Also takes ${rare.join(", ")}: search_tools with include_schema describes them.`,
    }),
    inputSchema: {
      ...text.inputSchema,
      ...($defs !== undefined && { $defs: brief($defs, text.name === RULES ? OWN_REFERENCE : REFERENCE) }),
      properties: Object.fromEntries(properties),
    } as ObjectSchema,
  };
}

/** The schema with less in it. With a `reference`, rule rows are that instead. */
function brief(value: unknown, reference: string | null): unknown {
  if (Array.isArray(value)) return value.map((one) => brief(one, reference));
  if (typeof value !== "object" || value === null) return value;
  const schema = value as JsonSchema;
  if (reference !== null && isRuleRow(schema)) return { type: "object", description: reference };
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, inner]) => !(LIMITS.includes(key) && typeof inner === "number"))
      .map(([key, inner]) => [key, brief(inner, reference)]),
  );
}

function isRuleRow({ properties }: JsonSchema): boolean {
  if (typeof properties !== "object" || properties === null) return false;
  return "field" in properties && "operator" in properties;
}
