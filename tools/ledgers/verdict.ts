import { z } from "zod";
import type { Chain } from "./chain.ts";
import type { Verifying } from "./seals.ts";
import { FLAWS, verifySeals } from "./verify.ts";

const MOST_SEALS = 20;

/** The parameters of a verification, apart from the chain's name. */
export const fromSeal = z.int().min(1).default(1).describe("Start here: next_seal of the last answer");

const Flaw = z.object({
  kind: z.enum(Object.keys(FLAWS) as (keyof typeof FLAWS)[]),
  meaning: z.string(),
  row_id: z.uuid().nullable(),
  seal: z.int().nullable().describe("The number of the seal; null for a row that is not sealed yet"),
});

/** The result for one chain. */
export const ChainVerdict = z.object({
  intact: z.boolean(),
  seals: z.int().describe("Seals that were checked"),
  next_seal: z.int().nullable().describe("Null when everything was checked"),
  other_secret: z
    .int()
    .describe(
      "Seals made under another APP_SECRET: only their chain can be checked. 0 unless it was changed",
    ),
  first: Flaw.nullable().describe("The first row or seal with a flaw"),
});
export type ChainVerdict = z.output<typeof ChainVerdict>;

/** Verifies a page of a chain's seals, with their rows. */
export async function verifyChain(context: Verifying, chain: Chain, from: number): Promise<ChainVerdict> {
  const { first, ...seen } = await verifySeals(context, chain, { from, most: MOST_SEALS });
  return { intact: first === null, ...seen, first: first && { ...first, meaning: FLAWS[first.kind] } };
}
