import { PLATFORM_LEDGER } from "#runtime/ledgers.ts";
import { tool } from "#runtime/operation/operation.ts";
import { ChainVerdict, fromSeal, verifyChain } from "./verdict.ts";

export default tool({
  name: "verify_platform_ledger",
  title: "Verify the seals of the platform's audit log",
  description:
    "Verifies the platform's own audit log: that nobody changed, removed or added a row or seal outside the service. Names the first flaw. Call again with from_seal while next_seal is not null.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: { fromSeal },
  output: ChainVerdict,
  faults: ["invalid"],
  deadline: 30_000,
  handler: ({ sql, config }, { fromSeal: from }) =>
    verifyChain({ sql, config }, { ledger: PLATFORM_LEDGER, propertyId: null }, from),
});
