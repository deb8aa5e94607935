import { z } from "zod";
import { PLATFORM_LEDGER, PROPERTY_LEDGERS } from "#runtime/ledgers.ts";
import { job } from "#runtime/operation/job.ts";
import type { Chain } from "./chain.ts";
import { safeHorizon, sealNext, unsealed } from "./seals.ts";

const MOST_ROWS = 5_000;
const MARGIN_SECONDS = 60;

/** Seals the new rows of all ledgers, the properties' and the platform's, range by range. */
export default job({
  name: "seal_ledgers",
  attempts: 3,
  every: "* * * * *",
  input: z.object({}),
  async handler({ transactSystem, config, log, signal }) {
    const horizon = await transactSystem((sql) => safeHorizon(sql, MARGIN_SECONDS));
    if (horizon === null) {
      log.warn(
        "The ledgers are not sealed now: the start of an open transaction is hidden (pg_read_all_stats).",
      );
      return;
    }
    const close = async (chain: Chain) => {
      const next = () => transactSystem((sql) => sealNext(sql, config, chain, { horizon, most: MOST_ROWS }));
      while (!signal.aborted && (await next())) {}
    };
    await close({ ledger: PLATFORM_LEDGER, propertyId: null });
    for (const ledger of PROPERTY_LEDGERS) {
      for (const propertyId of await transactSystem((sql) => unsealed(sql, ledger, horizon))) {
        await close({ ledger, propertyId });
      }
    }
  },
});
