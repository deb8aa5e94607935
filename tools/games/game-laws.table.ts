import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { afterChange, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changeWords } from "#runtime/operation/record-words.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { checkPlace, placeColumns } from "#tools/people/place-columns.ts";
import { LAW_KINDS } from "./law/law.ts";

const columns = {
  kind: writable(
    z
      .enum(LAW_KINDS)
      .describe(
        "free_entry: a play that is not free needs a free way in. registration: a warning above a total of prizes. tax_form: a claim waits from this amount a calendar year on",
      ),
  ),
  ...placeColumns,
  amount: writable(z.number().min(0).max(1_000_000_000).nullish().describe("In dollars")),
  source_note: writable(
    z.string().trim().min(1).max(2000).nullish().describe("The law or the person behind the row"),
  ),
  effective_from: writable(
    z.iso.date().nullish().describe("From this day on; replaces older rows of the kind and place"),
  ),
  is_active: writable(z.boolean().default(true).describe("Off: nothing is checked by it")),
};

export default table({
  name: "game_laws",
  noun: "game_law",
  description:
    "A row of the law of games, which an operator edits with counsel. Of a kind and place the latest effective_from counts. Properties start with defaults: check them with counsel.",
  columns,
  asks: ["create", "update"],
  beforeWrite,
});

async function beforeWrite({ ask }: Context, change: Change<typeof columns>): Promise<Values> {
  if (change.verb === "delete") return {};
  const next = afterChange(columns, change);
  checkPlace(next, change.input);
  if (next.kind !== "free_entry" && next.amount === null)
    throw invalid("amount", "must be given for this kind");
  const { current, input } = change;
  const words = current ? changeWords(current, input) : `a new row of the kind ${input.kind}`;
  ask?.({ sentences: () => [`This changes the law by which games are checked: ${words}.`] });
  return input;
}
