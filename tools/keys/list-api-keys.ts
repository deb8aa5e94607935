import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { ApiKeyView, keyColumns } from "./key.ts";

export default tool({
  name: "list_api_keys",
  title: "List API keys",
  description:
    "Lists a property's keys, revoked ones too: names, prefixes, scopes, states, last use. No secrets.",
  scope: "read",
  effect: "read",
  core: true,
  access: "user",
  realm: "system",
  property: "property_id",
  input: { property_id: z.uuid().describe("From list_properties") },
  output: z.object({ keys: z.array(ApiKeyView) }),
  faults: [],
  async handler({ sql, property }) {
    const keys = await sql<ApiKeyView[]>`
      select ${keyColumns(sql)}, last_used_at from api_keys left join api_key_uses on api_key_id = id
      where property_id = ${property.id} order by created_at, id`;
    return { keys: [...keys] };
  },
});
