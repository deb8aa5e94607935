import { Hono } from "hono";
import { readConfig } from "#runtime/config.ts";
import { rateLimiter } from "#runtime/limits/rate-limit.ts";
import { createLog } from "#runtime/log.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { admitted, type Http } from "#transports/http/handlers.ts";
import { listen } from "#transports/http/server.ts";
import { openService } from "#transports/start/service.ts";
import { serve } from "./serve.ts";

// One route behind the admission checks of the service, and nothing behind the route.
const config = readConfig({ ...process.env, ROLE: "web", PORT: "0", APP_SECRET: "b".repeat(32) });
const log = createLog(config.logLevel);
const { db, directory, sessions } = await openService({ config, databaseUrl: config.databaseUrl!, log });
const limiter = rateLimiter({ db, now: directory.now, log });
const metadataUrl = `${config.siteUrl}/metadata`;
const control: AdmissionControl = { limiter, directory, sessions, log, metadataUrl, trustProxy: 0 };
const app: Http = new Hono();
app.get(
  "/api/nothing",
  admitted(control, async ({ frame }) => answer(frame, 200, '{"ok":true}')),
);
const { port } = await listen(app, control, { host: config.host, port: 0, upgrades: () => false });
serve(port);
