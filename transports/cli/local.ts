import { randomUUID } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { findEmbedded } from "#db/embedded/start.ts";
import { ConfigError, readConfig } from "#runtime/config.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { needsProperty, withTenant } from "#runtime/funnel/access.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { namesIn } from "#runtime/funnel/names.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { createLog } from "#runtime/log.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { storedSecret } from "#runtime/secrets/app-secret.ts";
import { CATALOG } from "#tools/catalog.ts";
import { bodyOf } from "#transports/http/file-body.ts";
import { atNotedAddresses } from "#transports/start/address.ts";
import { type OpenedService, openService } from "#transports/start/service.ts";
import type { Arguments } from "./arguments.ts";
import { type NamedProperty, propertyNamed, slugsOf } from "./property.ts";
import type { CommandResult } from "./remote.ts";

/** A service of this process. */
export type Opened = Omit<OpenedService, "hold">;

/** Opens the service on the configured database. */
export async function openConfigured(env: NodeJS.ProcessEnv): Promise<Opened> {
  const given = readConfig(env);
  const settings = given.databaseUrl ? given : atNotedAddresses(given);
  const databaseUrl = settings.databaseUrl ?? (await findEmbedded(settings.dataDir));
  const appSecret = settings.appSecret ?? storedSecret(settings.dataDir);
  if (!databaseUrl || !appSecret) {
    throw new ConfigError(
      `No service runs over the data folder ${settings.dataDir}. Start it with npm start, or set DATA_DIR or DATABASE_URL as it has them, or use --url.`,
    );
  }
  return openService({ config: { ...settings, appSecret }, databaseUrl, log: createLog(settings.logLevel) });
}

/** Runs the operation in this process, as the operator of this machine. */
export async function callLocal(
  operation: Operation,
  { input, property, idempotencyKey }: Arguments,
  out: NodeJS.WritableStream,
  service: Opened,
): Promise<CommandResult> {
  const propertyId =
    property === undefined ? undefined : propertyNamed(await propertiesOf(service), property);
  const written = withTenant(operation, input, propertyId);
  await checkProperty(service, operation, propertyId, written);
  const caller = {
    actor: { type: "system", id: null },
    transport: "cli",
    requestId: randomUUID(),
    propertyId,
  } as const;
  const { input: given, said } = await namesIn(service, CATALOG.tables.values(), operation, caller, written);
  const idempotency = idempotencyKey
    ? { key: idempotencyKey, fingerprint: canonicalHash({ tool: operation.name, input: given }) }
    : undefined;
  const outcome = await invoke(service, operation, { ...caller, idempotency }, given);
  if (outcome.status >= 400) throw recordedFault(outcome.body);
  // A file is printed while it is made.
  if (outcome.file) await pipeline(bodyOf(outcome.file.stream), out, { end: false });
  return { ...outcome, input: given, warnings: [...said, ...(outcome.warnings ?? [])] };
}

/** Throws `invalid` if the operation needs a property and none is named. */
async function checkProperty(
  service: Service,
  operation: Operation,
  propertyId: string | undefined,
  { [operation.property ?? ""]: named }: Record<string, unknown>,
): Promise<void> {
  if (!needsProperty(operation) || propertyId !== undefined || named !== undefined) return;
  const slugs = slugsOf(await propertiesOf(service));
  throw invalid("--property", `names the property to work in. There are: ${slugs}`);
}

function propertiesOf(service: Service): Promise<NamedProperty[]> {
  return service.db.asSystem(
    async (sql) => await sql<NamedProperty[]>`select id, slug, name from properties order by slug`,
  );
}

/** The recorded fault of an earlier call with this idempotency key. */
function recordedFault(body: string): Fault {
  const { code, error, details } = JSON.parse(body);
  return new Fault(code, { message: error, details });
}
