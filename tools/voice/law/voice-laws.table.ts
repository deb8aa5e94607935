import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { readable, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changeWords } from "#runtime/operation/record-words.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { VOICE_LAWS, type VoiceLawKind } from "./law.ts";

const columns = {
  kind: readable(z.enum(Object.keys(VOICE_LAWS) as [VoiceLawKind, ...VoiceLawKind[]]), { concise: true }),
  amount: writable(z.number().min(0).max(3600).describe("In the unit of the kind"), { concise: true }),
  legal_amount: readable(
    z
      .number()
      .nullable()
      .describe("The law's own, which amount is never looser than. null: only our default"),
    { concise: true },
  ),
  stricter: readable(z.enum(["lower", "higher", "equal"]).describe("The direction that is stricter")),
  source_note: writable(z.string().trim().min(1).max(2000).describe("The law or the person behind the row")),
};

/** The least amounts that a call needs. */
const LEAST: Partial<Record<VoiceLawKind, number>> = { most_call_seconds: 30, least_ring_seconds: 1 };
/** The greatest amounts for which a vendor makes calls. */
const MOST: Partial<Record<VoiceLawKind, number>> = { least_ring_seconds: 120, ai_disclosure: 1 };

export default table({
  name: "voice_laws",
  noun: "voice_law",
  description:
    "A number that the law sets for calls, with its source, which an operator edits with counsel. It can be made stricter than the law's own, never looser. Properties start with defaults.",
  verbs: ["list", "get", "update"],
  columns,
  asks: ["update"],
  beforeWrite,
});

async function beforeWrite(
  { ask, call }: Context,
  { verb, input, current }: Change<typeof columns>,
): Promise<Values> {
  if (verb !== "update") return input;
  const { kind, legal_amount: legal, stricter } = current;
  const amount = input.amount ?? current.amount;
  if (legal !== null && isLooser(amount, legal, stricter)) {
    const allowed = { lower: "at most", higher: "at least", equal: "exactly" }[stricter];
    throw invalid("amount", `must be ${allowed} ${legal}: ${current.source_note}`);
  }
  if (amount < (LEAST[kind] ?? 0)) throw invalid("amount", `must be ${LEAST[kind]} or more`);
  if (amount > (MOST[kind] ?? 3600)) throw invalid("amount", `must be ${MOST[kind]} or less`);
  if (call.actor.type === "api_key" && isLooser(amount, current.amount, stricter)) {
    throw new Fault("forbidden", {
      message: `An API key makes ${kind} stricter only. A signed-in admin or manager of the property, or the operator's command line, makes it looser.`,
    });
  }
  ask?.({ sentences: () => [`This changes the law of calls, ${kind}: ${changeWords(current, input)}.`] });
  return input;
}

function isLooser(amount: number, legal: number, stricter: "lower" | "higher" | "equal"): boolean {
  if (stricter === "equal") return amount !== legal;
  return stricter === "lower" ? amount > legal : amount < legal;
}
