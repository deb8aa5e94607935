import { z } from "zod";
import { insertedValues } from "#db/sql.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";
import { refuseAgents } from "./agent-confirmation.ts";
import { assertSlugFree, given, PropertyView, propertyColumns, settings } from "./property.ts";

const optional = z.object(settings).partial().shape;

export default tool({
  name: "create_property",
  title: "Create a property",
  description:
    "Creates a property (tenant). Its players, campaigns and keys are separate from other properties'. It starts with the quiet hours, frequency rules and the laws of games and calls of the United States; see list_quiet_hours_rules.",
  scope: "write",
  effect: "create",
  access: "operator",
  realm: "system",
  input: {
    name: z.string().trim().min(1).max(200).describe("As people call the casino"),
    slug: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "lower-case letters, digits and hyphens")
      .describe("A short name for commands and addresses"),
    ...optional,
  },
  output: PropertyView,
  status: 201,
  faults: ["invalid", "conflict"],
  async handler({ sql, call, audit }, input) {
    refuseAgents(call, input.agent_confirmation);
    await assertSlugFree(sql, input.slug);
    const [property] = await sql<PropertyView[]>`
      insert into properties ${insertedValues(given(input))} returning ${propertyColumns()}`;
    await sql`select seed_sending_rules(${property!.id})`;
    await sql`select seed_game_laws(${property!.id})`;
    await sql`select seed_voice_laws(${property!.id})`;
    await directoryChanged(sql);
    audit({ entity: "properties", entityId: property!.id, propertyId: property!.id });
    return property!;
  },
});
