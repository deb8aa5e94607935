import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { KEYWORD_ACTIONS, KEYWORD_MATCHES, keywordsOf } from "./keywords.ts";

export default tool({
  name: "list_sms_keywords_in_force",
  title: "List the keywords in force",
  description:
    "Lists every keyword that the property's inbound texts are compared with: the keywords by law (protected), the other defaults, and the property's own from sms_keywords. There are hundreds: name a language.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    language: z.string().max(20).optional().describe("Only the keywords of this language, such as es"),
  },
  output: z.object({
    keywords: z.array(
      z.object({
        text: z.string(),
        action: z.enum(KEYWORD_ACTIONS),
        match: z.enum(KEYWORD_MATCHES),
        language: z.string().nullable(),
        origin: z.enum(["protected", "default", "property"]),
      }),
    ),
  }),
  faults: [],
  async handler(context, { language }) {
    const keywords = await keywordsOf(context);
    return { keywords: keywords.filter((one) => language === undefined || one.language === language) };
  },
});
