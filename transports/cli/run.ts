import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { findEmbedded } from "#db/embedded/start.ts";
import { ConfigError, readConfig } from "#runtime/config.ts";
import { Fault, faultBody, invalid, toFault } from "#runtime/faults.ts";
import { withTenant } from "#runtime/funnel/access.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { createLog } from "#runtime/log.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { needsProperty, type Operation } from "#runtime/operation/operation.ts";
import { isList, type PagePosition, positionAfter, withPaging } from "#runtime/operation/paging.ts";
import { storedSecret } from "#runtime/secrets/app-secret.ts";
import { CATALOG } from "#tools/catalog.ts";
import { bodyOf } from "#transports/http/file-body.ts";
import { type OpenedService, openService } from "#transports/start/service.ts";
import { type Arguments, parseArguments } from "./arguments.ts";
import { operationHelp, overview } from "./help.ts";
import { type NamedProperty, propertyNamed, slugsOf } from "./property.ts";
import { type CommandResult, callRemote } from "./remote.ts";
import { asTable, type Layout, withoutControls } from "./table.ts";

/** The exit code of a process that SIGPIPE ends: the reader of the pipe has gone. */
const READER_GONE = 141;

type Opened = Omit<OpenedService, "hold">;

/** The parts of a process that a command uses. */
export interface CommandProcess {
  env: NodeJS.ProcessEnv;
  stdout: NodeJS.WritableStream & { columns?: number };
  stderr: NodeJS.WritableStream;
}

/** Runs one command and returns its exit code: 0 done, 1 refused or failed, 2 wrong arguments, 141 no reader left. */
export async function runCommand(
  args: readonly string[],
  host: CommandProcess,
  open: (env: NodeJS.ProcessEnv) => Promise<Opened> = openConfigured,
  catalog: Catalog = CATALOG,
): Promise<number> {
  const { env, stdout } = host;
  const { print, complain, isUnread } = output(host);
  const name = args[0]?.replaceAll("-", "_");
  if (name === undefined || /^(_h|__help|help)$/.test(name)) return print(overview(catalog));
  const operation = catalog.operations.get(name);
  if (!operation) return complain(`There is no operation ${args[0]}. npm run tool -- --help lists them.`, 2);
  if (args.includes("--help") || args[1] === "-h") return print(operationHelp(operation));
  let parsed: Arguments;
  try {
    const readText = (file: string) => readFile(file, "utf8");
    parsed = withListDefaults(operation, await parseArguments(operation, args.slice(1), readText, env));
  } catch (error) {
    return complain(`${toFault(error).message}\nSee npm run tool -- ${args[0]} --help`, 2);
  }
  try {
    const result = parsed.url
      ? await callRemote(operation, parsed, stdout)
      : await callLocal(operation, parsed, stdout, await open(env));
    if (operation.file) return 0;
    const position = positionOf(operation, parsed, result);
    if (position && parsed.withPage)
      return print(`{"items":${result.body},"page":${JSON.stringify(position)}}`);
    const text = parsed.json
      ? result.body
      : asTable(JSON.parse(result.body), layoutFor(parsed, stdout.columns));
    const code = await print(text);
    return position && code === 0 ? complain(nextPageHint(position, parsed), 0) : code;
  } catch (error) {
    if (isUnread()) return READER_GONE;
    if (error instanceof ConfigError) return complain(error.message, 2);
    const fault = toFault(error);
    if (parsed.json) await print(JSON.stringify(faultBody(fault)));
    return complain(fault.code === "internal" ? String(fault.cause ?? fault) : fault.message, 1);
  }
}

/** The arguments, with the defaults that let a list be paged. */
function withListDefaults(operation: Operation, given: Arguments): Arguments {
  if (given.withPage && !isList(operation)) throw invalid("--with-page", "is for lists");
  return {
    ...given,
    json: given.json || given.withPage,
    input: withPaging(operation, given.input),
  };
}

/** The position in a list; null if the list is complete and was not counted. */
function positionOf(
  operation: Operation,
  { input, withPage }: Arguments,
  { body, page }: CommandResult,
): PagePosition | null {
  if (!isList(operation)) return null;
  const position = positionAfter(page, (JSON.parse(body) as unknown[]).length, Number(input.offset ?? 0));
  return withPage || position.has_more || position.total !== undefined ? position : null;
}

/** The line for people: how many records there are, and how to see the rest. */
function nextPageHint(
  { next_cursor: next, has_more: isMore, total }: PagePosition,
  { input }: Arguments,
): string {
  const all = total === undefined ? "" : `${total} in all. `;
  if (!isMore) return all.trimEnd();
  const flag =
    next === null ? `--offset ${Number(input.offset) + Number(input.limit ?? 50)}` : `--cursor ${next}`;
  return `${all}There are more: the same command with ${flag}`;
}

/** The width of the terminal, if there is one, and the selected columns. */
function layoutFor({ input }: Arguments, width: number | undefined): Layout {
  const order = typeof input.select === "string" ? input.select.split(",").map((name) => name.trim()) : [];
  return { width, order };
}

/** Opens the service on the configured database. */
async function openConfigured(env: NodeJS.ProcessEnv): Promise<Opened> {
  const settings = readConfig(env);
  const databaseUrl = settings.databaseUrl ?? (await findEmbedded(settings.dataDir));
  const appSecret = settings.appSecret ?? storedSecret(settings.dataDir);
  if (!databaseUrl || !appSecret) {
    throw new ConfigError(
      "The service is not running here. Start it with npm start, or set DATABASE_URL, or use --url.",
    );
  }
  return openService({ config: { ...settings, appSecret }, databaseUrl, log: createLog(settings.logLevel) });
}

/** Runs the operation in this process, as the operator of this machine. */
async function callLocal(
  operation: Operation,
  { input, property, idempotencyKey }: Arguments,
  out: NodeJS.WritableStream,
  service: Opened,
): Promise<CommandResult> {
  try {
    const propertyId =
      property === undefined ? undefined : propertyNamed(await propertiesOf(service), property);
    const given = withTenant(operation, input, propertyId);
    await checkProperty(service, operation, propertyId, given);
    const outcome = await invoke(
      service,
      operation,
      {
        actor: { type: "system", id: null },
        transport: "cli",
        requestId: randomUUID(),
        propertyId,
        idempotency: idempotencyKey
          ? { key: idempotencyKey, fingerprint: canonicalHash({ tool: operation.name, input: given }) }
          : undefined,
      },
      given,
    );
    if (outcome.status >= 400) throw recordedFault(outcome.body);
    // A file is printed while it is made.
    if (outcome.file) await pipeline(bodyOf(outcome.file.stream), out, { end: false });
    return outcome;
  } finally {
    await service.close();
  }
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

/** The functions that print results and complaints; both return the exit code. */
function output({ stdout, stderr }: CommandProcess) {
  let isUnread = false;
  // Without listeners these errors would end the process.
  stderr.on("error", () => {});
  stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    isUnread ||= code === "EPIPE";
  });
  const complain = async (text: string, code: number): Promise<number> => {
    await write(stderr, withoutControls(text));
    return code;
  };
  const print = async (text: string): Promise<number> => {
    const error = await write(stdout, text);
    if (!error) return 0;
    return isUnread ? READER_GONE : complain(`The result could not be printed: ${error.message}`, 1);
  };
  return { print, complain, isUnread: () => isUnread };
}

/** Writes a line, and returns the error that stopped it, if any. */
function write(where: NodeJS.WritableStream, text: string): Promise<Error | null | undefined> {
  return new Promise((resolve) => where.write(`${text}\n`, resolve));
}
