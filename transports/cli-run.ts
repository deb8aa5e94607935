import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { findEmbedded } from "#db/embedded.ts";
import { withTenant } from "#runtime/access.ts";
import { keptSecret } from "#runtime/app-secret.ts";
import { canonicalHash } from "#runtime/audit.ts";
import { type Catalog, operationNamed } from "#runtime/catalog.ts";
import { ConfigError, readConfig } from "#runtime/config.ts";
import { Fault, faultBody, invalid, toFault } from "#runtime/faults.ts";
import { invoke, needsProperty, type Service } from "#runtime/invoke.ts";
import { createLog } from "#runtime/log.ts";
import type { Operation } from "#runtime/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type Arguments, parseArguments } from "./cli-arguments.ts";
import { operationHelp, overview } from "./cli-help.ts";
import { type Named, propertyNamed, slugsOf } from "./cli-property.ts";
import { type Answered, callRemote } from "./cli-remote.ts";
import { asTable, harmless, type Paper } from "./cli-table.ts";
import { openService } from "./compose.ts";
import { bodyOf } from "./files.ts";
import { isList, type Place, placeAfter, settlePlace } from "./paging.ts";

/** The exit code of whoever is ended by SIGPIPE: a command in a pipe whose reader has seen enough. */
const READER_IS_GONE = 141;

type Opened = Service & { close(): Promise<void> };

/** What a command runs in: a process, or as much of one. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  stdout: NodeJS.WritableStream & { columns?: number };
  stderr: NodeJS.WritableStream;
}

/** Runs one command. Answers its exit code: 0 done, 1 refused or failed, 2 wrong words, 141 nobody reads on. */
export async function runCommand(
  words: readonly string[],
  surroundings: Surroundings,
  open: (env: NodeJS.ProcessEnv) => Promise<Opened> = openHere,
  catalog: Catalog = CATALOG,
): Promise<number> {
  const { env, stdout } = surroundings;
  const { print, complain, isUnread } = paper(surroundings);
  const name = words[0]?.replaceAll("-", "_");
  if (name === undefined || /^(_h|__help|help)$/.test(name)) return print(overview(catalog));
  const operation = operationNamed(catalog, name);
  if (!operation) return complain(`There is no operation ${words[0]}. npm run tool -- --help lists them.`, 2);
  if (words.includes("--help") || words[1] === "-h") return print(operationHelp(operation));
  let parsed: Arguments;
  try {
    const readText = (file: string) => readFile(file, "utf8");
    parsed = settled(operation, await parseArguments(operation, words.slice(1), readText, env));
  } catch (error) {
    return complain(`${toFault(error).message}\nSee npm run tool -- ${words[0]} --help`, 2);
  }
  try {
    const answered = parsed.url
      ? await callRemote(operation, parsed, stdout)
      : await callLocal(operation, parsed, stdout, await open(env));
    if (operation.file) return 0;
    const place = placeOf(operation, parsed, answered);
    if (place && parsed.withPage) return print(`{"items":${answered.body},"page":${JSON.stringify(place)}}`);
    const text = parsed.json
      ? answered.body
      : asTable(JSON.parse(answered.body), paperFor(parsed, stdout.columns));
    const code = await print(text);
    return place && code === 0 ? complain(onward(place, parsed), 0) : code;
  } catch (error) {
    if (isUnread()) return READER_IS_GONE;
    if (error instanceof ConfigError) return complain(error.message, 2);
    const fault = toFault(error);
    if (parsed.json) await print(JSON.stringify(faultBody(fault)));
    return complain(fault.code === "internal" ? String(fault.cause ?? fault) : fault.message, 1);
  }
}

/** The arguments of a list are of one that can be gone through. */
function settled(operation: Operation, given: Arguments): Arguments {
  if (given.withPage && !isList(operation)) throw invalid("--with-page", "is for lists");
  return {
    ...given,
    json: given.json || given.withPage,
    input: settlePlace(operation, given.input),
  };
}

/** Where a list stands; null where there is nothing to say of it. */
function placeOf(
  operation: Operation,
  { input, withPage }: Arguments,
  { body, page }: Answered,
): Place | null {
  if (!isList(operation)) return null;
  const place = placeAfter(page, (JSON.parse(body) as unknown[]).length, Number(input.offset ?? 0));
  return withPage || place.has_more || place.total !== undefined ? place : null;
}

/** For people: how many there are, and how to see the rest. */
function onward({ next_cursor: next, has_more: isMore, total }: Place, { input }: Arguments): string {
  const all = total === undefined ? "" : `${total} in all. `;
  if (!isMore) return all.trimEnd();
  const flag =
    next === null ? `--offset ${Number(input.offset) + Number(input.limit ?? 50)}` : `--cursor ${next}`;
  return `${all}There are more: the same command with ${flag}`;
}

/** The terminal's width, where there is one, and the columns as they were asked for. */
function paperFor({ input }: Arguments, width: number | undefined): Paper {
  const order = typeof input.select === "string" ? input.select.split(",").map((name) => name.trim()) : [];
  return { width, order };
}

/** The service on the configured database. */
async function openHere(env: NodeJS.ProcessEnv): Promise<Opened> {
  const settings = readConfig(env);
  const databaseUrl = settings.databaseUrl ?? (await findEmbedded(settings.dataDir));
  const appSecret = settings.appSecret ?? keptSecret(settings.dataDir);
  if (!databaseUrl || !appSecret) {
    throw new ConfigError(
      "The service is not running here. Start it with npm start, or set DATABASE_URL, or use --url.",
    );
  }
  return openService({ config: { ...settings, appSecret }, databaseUrl, log: createLog(settings.logLevel) });
}

/** As the operator of this machine. */
async function callLocal(
  operation: Operation,
  { input, property, idempotencyKey }: Arguments,
  out: NodeJS.WritableStream,
  service: Opened,
): Promise<Answered> {
  try {
    const propertyId =
      property === undefined ? undefined : propertyNamed(await propertiesOf(service), property);
    const given = withTenant(operation, input, propertyId);
    await checkNamed(service, operation, propertyId, given);
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
    if (outcome.status >= 400) throw recorded(outcome.body);
    // A file is printed as it is, while it comes.
    if (outcome.file) await pipeline(bodyOf(outcome.file.flow), out, { end: false });
    return outcome;
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
  const slugs = slugsOf(await propertiesOf(service));
  throw invalid("--property", `names the property to work in. There are: ${slugs}`);
}

function propertiesOf(service: Service): Promise<Named[]> {
  return service.db.asSystem(
    async (sql) => await sql<Named[]>`select id, slug, name from properties order by slug`,
  );
}

/** A refusal that a key was answered with before. */
function recorded(body: string): Fault {
  const { code, error, details } = JSON.parse(body);
  return new Fault(code, { message: error, details });
}

/** What is printed and complained goes to it, and answers the exit code. */
function paper({ stdout, stderr }: Surroundings) {
  let isUnread = false;
  // Unheard, they would end the process in the middle.
  stderr.on("error", () => {});
  stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    isUnread ||= code === "EPIPE";
  });
  const complain = async (text: string, code: number): Promise<number> => {
    await written(stderr, harmless(text));
    return code;
  };
  const print = async (text: string): Promise<number> => {
    const error = await written(stdout, text);
    if (!error) return 0;
    return isUnread ? READER_IS_GONE : complain(`The result could not be printed: ${error.message}`, 1);
  };
  return { print, complain, isUnread: () => isUnread };
}

/** Why it could not be written, once that is known. */
function written(where: NodeJS.WritableStream, text: string): Promise<Error | null | undefined> {
  return new Promise((resolve) => where.write(`${text}\n`, resolve));
}
