import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { PropertyView, propertyColumns } from "./property.ts";

export default tool({
  name: "get_property",
  title: "Get the property's settings",
  description: "Returns the property of this credential with its settings: names, address, time zone, rules.",
  scope: "read",
  effect: "read",
  realm: "system",
  property: "propertyId",
  input: { propertyId: z.uuid().optional().describe("Default: the credential's property") },
  output: PropertyView,
  faults: [],
  async handler({ sql, property }) {
    const [row] = await sql<PropertyView[]>`
      select ${propertyColumns()} from properties where id = ${property.id}`;
    return row!;
  },
});
