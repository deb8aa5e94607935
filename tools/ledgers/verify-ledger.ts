import { z } from "zod";
import { PROPERTY_LEDGERS } from "#runtime/ledgers.ts";
import { tool } from "#runtime/operation/operation.ts";
import { ChainVerdict, fromSeal, verifyChain } from "./verdict.ts";

export default tool({
  name: "verify_ledger",
  title: "Verify the ledgers' seals",
  description:
    "Verifies the audit log and the consent ledger: that nobody changed, removed or added a row or seal outside the service. Names the first flaw. A lawful erasure is not a flaw. Call again with from_seal while next_seal is not null.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    ledger: z.enum(PROPERTY_LEDGERS).optional().describe("Default: both"),
    fromSeal,
  },
  output: z.object({
    intact: z.boolean().describe("True when the checked rows and seals have no flaw"),
    ledgers: z.array(z.object({ ledger: z.enum(PROPERTY_LEDGERS), ...ChainVerdict.shape })),
  }),
  faults: ["invalid"],
  deadline: 30_000,
  async handler({ sql, config, property }, { ledger, fromSeal: from }) {
    const ledgers = [];
    for (const name of ledger ? [ledger] : PROPERTY_LEDGERS) {
      const chain = { ledger: name, propertyId: property.id };
      ledgers.push({ ledger: name, ...(await verifyChain({ sql, config }, chain, from)) });
    }
    return { intact: ledgers.every((one) => one.intact), ledgers };
  },
});
