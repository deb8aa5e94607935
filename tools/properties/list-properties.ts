import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { PropertyView, propertyColumns } from "./property.ts";

export default tool({
  name: "list_properties",
  title: "List properties",
  description: "Lists all properties of this installation with their settings.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: {},
  output: z.object({ properties: z.array(PropertyView) }),
  faults: [],
  async handler({ sql }) {
    const properties = await sql<
      PropertyView[]
    >`select ${propertyColumns()} from properties order by name, id`;
    return { properties: [...properties] };
  },
});
