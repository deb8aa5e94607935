import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { AgentConfirmation } from "#tools/properties/agent-confirmation.ts";

export const Scope = z.enum(["read", "write"]);

/** An API key's metadata. The secret is never part of it. */
export const ApiKeyView = z.object({
  id: z.uuid(),
  property_id: z.uuid(),
  name: z.string(),
  key_prefix: z.string(),
  scopes: z.array(Scope),
  rate_limit: z.int(),
  pii_masked: z
    .boolean()
    .describe("Over MCP, addresses, names and birth dates are masked. REST shows them whole"),
  agent_confirmation: AgentConfirmation,
  is_active: z.boolean(),
  expires_at: timestamp().nullable(),
  last_used_at: timestamp().nullable(),
  created_at: timestamp(),
});

export type ApiKeyView = z.output<typeof ApiKeyView>;

/** The columns of a key's row; another table holds the time of its last use. */
export function keyColumns(sql: Sql) {
  return sql`id, property_id, name, key_prefix, scopes, rate_limit, pii_masked, agent_confirmation, is_active, expires_at, created_at`;
}
