import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { findEmbedded } from "#db/embedded.ts";
import { ConfigError, readConfig } from "#runtime/config.ts";
import { Fault, faultBody, invalid, toFault } from "#runtime/faults.ts";
import { invoke, needsProperty, type Service } from "#runtime/invoke.ts";
import { createLog } from "#runtime/log.ts";
import type { Operation } from "#runtime/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type Arguments, parseArguments } from "./cli-arguments.ts";
import { operationHelp, overview } from "./cli-help.ts";
import { callRemote } from "./cli-remote.ts";
import { asTable, type Paper } from "./cli-table.ts";
import { openService } from "./compose.ts";
import { bodyOf } from "./files.ts";

process.exitCode = await main(process.argv.slice(2));

/** Exit codes: 0 done, 1 refused or failed, 2 wrong words. */
async function main(words: string[]): Promise<number> {
  const name = words[0]?.replaceAll("-", "_");
  if (name === undefined || name === "__help" || name === "help") return print(overview(CATALOG));
  const operation = CATALOG.operations.get(name);
  if (!operation) return complain(`There is no operation ${words[0]}. npm run tool -- --help lists them.`, 2);
  if (words.includes("--help")) return print(operationHelp(operation));
  let parsed: Arguments;
  try {
    parsed = await parseArguments(operation, words.slice(1), (file) => readFile(file, "utf8"));
  } catch (error) {
    return complain(`${toFault(error).message}\nSee npm run tool -- ${words[0]} --help`, 2);
  }
  try {
    const body = parsed.url ? await callRemote(operation, parsed) : await callLocal(operation, parsed);
    if (operation.file) return 0;
    return print(parsed.json ? body : asTable(JSON.parse(body), paperFor(parsed)));
  } catch (error) {
    if (error instanceof ConfigError) return complain(error.message, 2);
    const fault = toFault(error);
    if (parsed.json) print(JSON.stringify(faultBody(fault)));
    return complain(fault.code === "internal" ? String(fault.cause ?? fault) : fault.message, 1);
  }
}

/** The terminal's width, where there is one, and the columns as they were asked for. */
function paperFor({ input }: Arguments): Paper {
  const order = typeof input.select === "string" ? input.select.split(",").map((name) => name.trim()) : [];
  return { width: process.stdout.columns, order };
}

/** As the operator of this machine, over the configured database. */
async function callLocal(
  operation: Operation,
  { input, property, idempotencyKey }: Arguments,
): Promise<string> {
  const config = readConfig(process.env);
  const databaseUrl = config.databaseUrl ?? (await findEmbedded(config.dataDir));
  if (!databaseUrl) {
    throw new ConfigError(
      "The service is not running here. Start it with npm start, or set DATABASE_URL, or use --url.",
    );
  }
  const service = await openService({ config, databaseUrl, log: createLog(config.logLevel) });
  try {
    const propertyId = property === undefined ? undefined : await findProperty(service, property);
    const given = { ...input };
    if (operation.property && propertyId && given[operation.property] === undefined)
      given[operation.property] = propertyId;
    await checkNamed(service, operation, propertyId, given);
    const { createHash, randomUUID } = await import("node:crypto");
    const outcome = await invoke(
      service,
      operation,
      {
        actor: { type: "system", id: null },
        transport: "cli",
        requestId: randomUUID(),
        propertyId,
        idempotency: idempotencyKey
          ? { key: idempotencyKey, fingerprint: createHash("sha256").update(JSON.stringify(given)).digest() }
          : undefined,
      },
      given,
    );
    if (outcome.status >= 400) throw recorded(outcome.body);
    // A file is printed as it is, while it comes.
    if (outcome.file) await pipeline(bodyOf(outcome.file.flow), process.stdout, { end: false });
    return outcome.body;
  } finally {
    await service.close();
  }
}

/** What works in a property needs to be told which. */
async function checkNamed(
  service: Service,
  operation: Operation,
  propertyId: string | undefined,
  { [operation.property ?? ""]: named }: Record<string, unknown>,
): Promise<void> {
  if (!needsProperty(operation) || propertyId !== undefined || named !== undefined) return;
  throw invalid("--property", `names the property to work in. There are: ${await slugs(service)}`);
}

/** A property by its id, short name or name. */
async function findProperty(service: Service, wanted: string): Promise<string> {
  const rows = await service.db.asSystem(
    (sql) => sql<{ id: string }[]>`
    select id from properties where id::text = ${wanted.toLowerCase()} or slug = ${wanted} or name = ${wanted}`,
  );
  if (rows.length === 1) return rows[0]!.id;
  throw new Fault("not_found", { message: `No property ${wanted}. There are: ${await slugs(service)}.` });
}

async function slugs(service: Service): Promise<string> {
  const all = await service.db.asSystem(
    (sql) => sql<{ slug: string }[]>`select slug from properties order by slug`,
  );
  return all.map(({ slug }) => slug).join(", ") || "none";
}

/** A refusal that a key was answered with before. */
function recorded(body: string): Fault {
  const { code, error, details } = JSON.parse(body);
  return new Fault(code, { message: error, details });
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function complain(text: string, code: number): number {
  process.stderr.write(`${text}\n`);
  return code;
}
