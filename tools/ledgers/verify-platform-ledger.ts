import { PLATFORM_LEDGER } from "#runtime/ledgers.ts";
import { tool } from "#runtime/operation/operation.ts";
import { fromSeal, judge, Verdict } from "./verdict.ts";

export default tool({
  name: "verify_platform_ledger",
  title: "Verify the seals of the platform's audit log",
  description:
    "Checks that no row of the platform's own audit log, and no seal over it, was changed, removed or put in behind the service's back, and names the first that was. Call again with from_seal while next_seal is not null.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: { fromSeal },
  output: Verdict,
  faults: ["invalid"],
  deadline: 30_000,
  handler: ({ sql, config }, { fromSeal: from }) =>
    judge({ sql, config }, { ledger: PLATFORM_LEDGER, propertyId: null }, from),
});
