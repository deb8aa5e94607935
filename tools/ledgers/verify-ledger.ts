import { z } from "zod";
import { LEDGERS, type LedgerName } from "#runtime/ledgers.ts";
import { tool } from "#runtime/operation.ts";
import { FLAWS, verifySeals } from "./verify.ts";

const NAMES = Object.keys(LEDGERS) as LedgerName[];
const MOST_SEALS = 20;

const Flaw = z.object({
  kind: z.enum(Object.keys(FLAWS) as (keyof typeof FLAWS)[]),
  meaning: z.string(),
  row_id: z.uuid().nullable(),
  seal: z.int().nullable().describe("The number of the seal; null for a row that is not sealed yet"),
});

export default tool({
  name: "verify_ledger",
  title: "Verify the ledgers' seals",
  description:
    "Checks that no row of the audit log and of the consent ledger, and no seal over them, was changed, removed or put in behind the service's back, and names the first that was. A lawful erasure is no change. Call again with from_seal while next_seal is not null.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    ledger: z.enum(NAMES).optional().describe("Default: both"),
    fromSeal: z.int().min(1).default(1).describe("Where to go on: next_seal of the last answer"),
  },
  output: z.object({
    intact: z.boolean().describe("True when nothing is wrong in what was looked at"),
    ledgers: z.array(
      z.object({
        ledger: z.enum(NAMES),
        intact: z.boolean(),
        seals: z.int().describe("Seals that were looked at"),
        next_seal: z.int().nullable().describe("Null when everything was looked at"),
        other_secret: z
          .int()
          .describe(
            "Seals made under another APP_SECRET: only their chain can be checked. 0 unless it was changed",
          ),
        first: Flaw.nullable().describe("The first row or seal that was touched"),
      }),
    ),
  }),
  faults: ["invalid"],
  deadline: 30_000,
  async handler(context, { ledger, fromSeal }) {
    const ledgers = [];
    for (const name of ledger ? [ledger] : NAMES) {
      const { first, ...seen } = await verifySeals(context, name, { from: fromSeal, most: MOST_SEALS });
      const flaw = first && { ...first, meaning: FLAWS[first.kind] };
      ledgers.push({ ledger: name, intact: first === null, ...seen, first: flaw });
    }
    return { intact: ledgers.every((one) => one.intact), ledgers };
  },
});
