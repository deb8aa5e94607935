import { z } from "zod";
import { writable } from "#runtime/columns.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, type Context, table } from "#runtime/operation.ts";
import { formOf, KEYWORD_ACTIONS, KEYWORD_MATCHES, type Keyword, keywordsOf } from "./keywords.ts";

export default table({
  name: "sms_keywords",
  noun: "sms_keyword",
  description:
    "A word or phrase that the property's players write, and what it means, beside those that every property has (list_sms_keywords_in_force). A property may read a default in another way, but not what the law names, such as STOP.",
  columns: {
    text: writable(z.string().trim().min(1).max(100)),
    action: writable(
      z
        .enum(KEYWORD_ACTIONS)
        .describe("review: a person reads it, and nothing is sent until then. ignore: it means nothing"),
    ),
    match: writable(
      z
        .enum(KEYWORD_MATCHES)
        .default("message")
        .describe("Whether the message is that text, begins with it, or holds it anywhere, word by word"),
    ),
    language: writable(z.string().trim().min(2).max(20).nullish()),
    note: writable(z.string().trim().min(1).max(500).nullish()),
  },
  beforeWrite,
});

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change,
): Promise<Record<string, unknown>> {
  if (verb === "delete") return {};
  const { text, action, match } = { ...current, ...input } as Pick<Keyword, "text" | "action" | "match">;
  const form = formOf(text);
  if (form === "") throw invalid("text", "has no letter or digit to know it by");
  if (match !== "message" && action !== "stop" && action !== "review") {
    throw invalid("match", `${action} must be the whole message: give match as message`);
  }
  await checkProtected(context, form, action);
  await checkFree(context, { form, match, id: current?.id ?? null });
  return { ...input, form };
}

async function checkProtected(context: Context, form: string, action: Keyword["action"]): Promise<void> {
  if (action === "stop") return;
  const keywords = await keywordsOf(context);
  const named = keywords.find((one) => one.origin === "protected" && formOf(one.text) === form);
  if (named) throw invalid("action", `${named.text} means stop by law, and cannot be read in another way`);
}

async function checkFree(
  { sql, property }: Context,
  { form, match, id }: { form: string; match: string; id: string | null },
): Promise<void> {
  const [taken] = await sql<{ text: string }[]>`
    select text from sms_keywords
    where property_id = ${property.id} and form = ${form} and match = ${match}
      and id is distinct from ${id}::uuid`;
  if (taken) throw new Fault("conflict", { message: `The keyword "${taken.text}" is the same text.` });
}
