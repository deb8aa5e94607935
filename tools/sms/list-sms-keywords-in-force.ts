import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { KEYWORD_ACTIONS, KEYWORD_MATCHES, keywordsOf } from "./keywords.ts";

export default tool({
  name: "list_sms_keywords_in_force",
  title: "List the keywords in force",
  description:
    "Lists every keyword that the property's inbound texts are compared with, in groups of one meaning: the keywords by law (protected), the other defaults, and the property's own from sms_keywords.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({
    keywords: z.array(
      z.object({
        texts: z.array(z.string()),
        action: z.enum(KEYWORD_ACTIONS),
        match: z.enum(KEYWORD_MATCHES),
        language: z.string().nullable(),
        origin: z.enum(["protected", "default", "property"]),
      }),
    ),
  }),
  faults: [],
  // In groups: one record a keyword is longer than an answer over MCP may be.
  async handler(context) {
    const groups = Map.groupBy(await keywordsOf(context), ({ text: _, ...group }) => JSON.stringify(group));
    const keywords = [...groups.values()].map((alike) => {
      const { text: _, ...group } = alike[0]!;
      return { texts: alike.map(({ text }) => text), ...group };
    });
    return { keywords };
  },
});
