import { z } from "zod";
import { LEDGERS, type LedgerName } from "#runtime/ledgers.ts";
import { job } from "#runtime/operation.ts";
import { safeHorizon, sealNext, unsealed } from "./seals.ts";

const MOST_ROWS = 5_000;
const MARGIN_SECONDS = 60;

/** Closes what the ledgers of all properties have gained, range by range. */
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
    for (const ledger of Object.keys(LEDGERS) as LedgerName[]) {
      for (const propertyId of await transactSystem((sql) => unsealed(sql, ledger, horizon))) {
        const next = () =>
          transactSystem((sql) =>
            sealNext(sql, config, { propertyId, ledger }, { horizon, most: MOST_ROWS }),
          );
        while (!signal.aborted && (await next())) {}
      }
    }
  },
});
