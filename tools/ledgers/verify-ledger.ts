import { z } from "zod";
import { PROPERTY_LEDGERS } from "#runtime/ledgers.ts";
import { tool } from "#runtime/operation/operation.ts";
import { fromSeal, judge, Verdict } from "./verdict.ts";

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
    ledger: z.enum(PROPERTY_LEDGERS).optional().describe("Default: both"),
    fromSeal,
  },
  output: z.object({
    intact: z.boolean().describe("True when nothing is wrong in what was looked at"),
    ledgers: z.array(z.object({ ledger: z.enum(PROPERTY_LEDGERS), ...Verdict.shape })),
  }),
  faults: ["invalid"],
  deadline: 30_000,
  async handler({ sql, config, property }, { ledger, fromSeal: from }) {
    const ledgers = [];
    for (const name of ledger ? [ledger] : PROPERTY_LEDGERS) {
      const chain = { ledger: name, propertyId: property.id };
      ledgers.push({ ledger: name, ...(await judge({ sql, config }, chain, from)) });
    }
    return { intact: ledgers.every((one) => one.intact), ledgers };
  },
});
