import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { quoted } from "#runtime/visible-text.ts";
import { formOf, KEYWORD_ACTIONS, KEYWORD_MATCHES, type Keyword, keywordsOf, readText } from "./keywords.ts";

// Each inbound text is compared with all of them.
const MOST_KEYWORDS = 1_000;

const columns = {
  text: writable(z.string().trim().min(1).max(100).describe("The word or phrase; case does not matter")),
  action: writable(
    z
      .enum(KEYWORD_ACTIONS)
      .describe("review: nothing is sent to the number until a person has read the text. ignore: no action"),
  ),
  match: writable(
    z
      .enum(KEYWORD_MATCHES)
      .default("message")
      .describe("The message equals the text, begins with it, or contains it anywhere, word by word"),
  ),
  language: writable(z.string().trim().min(2).max(20).nullish().describe("BCP 47, such as es"), {
    vocabulary: true,
  }),
  note: writable(z.string().trim().min(1).max(500).nullish().describe("For the staff")),
};

export default table({
  name: "sms_keywords",
  noun: "sms_keyword",
  description:
    "A word or phrase in players' texts with its action, in addition to the defaults (list_sms_keywords_in_force). A property can change the action of a default, but a text that means stop must stay stop.",
  columns,
  asks: ["create", "update"],
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { verb, input, current } = change;
  if (verb === "delete") return {};
  const { text, action, match } = afterChange(columns, change);
  const form = formOf(text);
  if (form === "") throw invalid("text", "needs a letter or digit");
  if (match !== "message" && action !== "stop" && action !== "review") {
    throw invalid("match", `must be message for the action ${action}: the keyword must be the whole message`);
  }
  await checkMeaning(context, text, action);
  const isCareful = (meaning?: string) => meaning === "stop" || meaning === "review";
  if (!isCareful(action) || isCareful(current?.action)) {
    const before = current ? `, and ${JSON.stringify(current.text)} no longer as ${current.action}` : "";
    const sentence = `Texts that say ${JSON.stringify(text)} are read as ${action} from now on${before}.`;
    context.ask?.({ sentences: () => [sentence] });
  }
  await checkFree(context, { form, match, id: current?.id ?? null });
  return { ...input, form };
}

/** A property can change a default STOP only to `review`, and a keyword by law not at all. */
async function checkMeaning(context: Context, text: string, action: Keyword["action"]): Promise<void> {
  if (action === "stop") return;
  const defaults = (await keywordsOf(context)).filter(({ origin }) => origin !== "property");
  const { action: meaning, matched } = readText(text, defaults);
  if (meaning !== "stop" || (action === "review" && matched?.origin !== "protected")) return;
  throw invalid(
    "action",
    `cannot be ${action}: the text means stop, by the keyword ${quoted(matched?.text ?? "")}`,
  );
}

async function checkFree(
  { sql, property }: Context,
  { form, match, id }: { form: string; match: string; id: string | null },
): Promise<void> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from sms_keywords where property_id = ${property.id}`;
  if (id === null && row!.count >= MOST_KEYWORDS) {
    throw new Fault("conflict", {
      message: `A property has at most ${MOST_KEYWORDS} keywords. Delete one first.`,
    });
  }
  const [taken] = await sql<{ text: string }[]>`
    select text from sms_keywords
    where property_id = ${property.id} and form = ${form} and match = ${match}
      and id is distinct from ${id}::uuid`;
  if (taken) throw new Fault("conflict", { message: `The keyword ${quoted(taken.text)} is the same text.` });
}
