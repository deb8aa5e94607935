import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { refuseAgents } from "#tools/properties/agent-confirmation.ts";
import { ApiKeyView, keyColumns, Scope } from "./key.ts";

export default tool({
  name: "create_api_key",
  title: "Create an API key",
  description:
    "Creates a key for one property and shows its secret once, as api_key; only a hash is stored. The caller must be a platform admin, or an admin or manager of the property.",
  scope: "write",
  effect: "create",
  core: true,
  access: "manager",
  asks: true,
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("The property that the key is for, from list_properties"),
    name: z.string().trim().min(1).max(200).describe("A label for people"),
    scopes: z.array(Scope).min(1).default(["read", "write"]).describe('["read"] for a read-only key'),
    expires_at: timestamp().nullable().default(null).describe("null means never"),
    rate_limit: z.int().min(1).max(1_000_000).default(100).describe("Requests a minute"),
    pii_masked: ApiKeyView.shape.pii_masked.default(false),
    agent_confirmation: ApiKeyView.shape.agent_confirmation.default("on"),
  },
  output: z.object({
    success: z.literal(true),
    api_key: z.string().optional().describe("The secret. Shown once: a replay does not have it."),
    key: ApiKeyView,
    id: z.uuid(),
    name: z.string(),
    scopes: z.array(Scope),
    property_id: z.uuid(),
    created_at: timestamp(),
  }),
  faults: ["invalid"],
  secrets: ["api_key"],
  async handler({ sql, property, call, ask }, input) {
    refuseAgents(call, input.agent_confirmation);
    const data = input.pii_masked ? "masked over MCP" : "whole";
    const sentence = `The key ${JSON.stringify(input.name)} may ${input.scopes.join(" and ")} in ${JSON.stringify(property.name)} ${input.expires_at ? `until ${input.expires_at}` : "without an end"}. Its holder sees personal data ${data}, and acts at once over REST.`;
    ask?.({ sentences: () => [sentence] });
    // By the database's clock, which also ends the key.
    const [given] = await sql<{ over: boolean | null }[]>`
      select ${input.expires_at}::timestamptz <= clock_timestamp() as over`;
    if (given?.over) throw invalid("expires_at", "must be in the future");
    const { secret, prefix, hash } = newApiKey();
    const scopes = [...new Set(input.scopes)].sort();
    const createdBy = call.actor.type === "user" ? call.actor.id : null;
    const [key] = await sql<ApiKeyView[]>`
      insert into api_keys (property_id, name, key_prefix, key_hash, scopes, rate_limit, pii_masked,
        agent_confirmation, expires_at, created_by)
      values (${property.id}, ${input.name}, ${prefix}, ${hash}, ${scopes}::text[], ${input.rate_limit},
        ${input.pii_masked}, ${input.agent_confirmation}, ${input.expires_at}, ${createdBy})
      returning ${keyColumns(sql)}, null::timestamptz as last_used_at`;
    await directoryChanged(sql);
    const { id, name, property_id, created_at } = key!;
    return { success: true as const, api_key: secret, key: key!, id, name, scopes, property_id, created_at };
  },
});
