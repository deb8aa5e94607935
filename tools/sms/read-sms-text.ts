import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { keywordsOf, readText } from "./keywords.ts";

export default tool({
  name: "read_sms_text",
  title: "See how a text would be read",
  description:
    "Shows the action that an inbound text would cause, and the deciding keyword. Changes nothing. stop revokes consent; start lifts an earlier stop; help is answered; review holds sends to the number until a person has read the text; none does nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { propertyId: z.uuid(), text: z.string().max(2000).describe("A text that a player might write") },
  output: z.object({
    action: z.enum(["stop", "start", "help", "review", "none"]),
    matched: z.string().nullable().describe("The keyword that decides the action"),
  }),
  faults: [],
  async handler(context, { text }) {
    const { action, matched } = readText(text, await keywordsOf(context));
    return { action, matched: matched?.text ?? null };
  },
});
