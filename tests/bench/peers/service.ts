import { readConfig } from "#runtime/config.ts";
import { createLog } from "#runtime/log.ts";
import { CATALOG } from "#tools/catalog.ts";
import { compose } from "#transports/start/compose.ts";
import { serve } from "./serve.ts";

// The whole service as it is started for the web, on a free port.
const config = readConfig({ ...process.env, ROLE: "web", PORT: "0", APP_SECRET: "b".repeat(32) });
const { listening } = await compose({
  config,
  databaseUrl: config.databaseUrl!,
  catalog: CATALOG,
  log: createLog(config.logLevel),
});
serve(listening!.port);
