import { readFile } from "node:fs/promises";
import { csvRows } from "#db/stream/csv.ts";
import { ConfigError } from "#runtime/config.ts";
import { type Fault, faultBody, invalid, toFault } from "#runtime/faults.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { isList, type PagePosition, positionAfter, withPaging } from "#runtime/operation/paging.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type Arguments, parseArguments } from "./arguments.ts";
import { type Destination, toFile, toStdout } from "./destination.ts";
import { guideFor } from "./guide.ts";
import { jsonRows } from "./json-rows.ts";
import { callLocal, type Opened, openConfigured } from "./local.ts";
import { nextLine } from "./next.ts";
import { programOf } from "./program.ts";
import { refusalText } from "./refusals.ts";
import type { CommandResult } from "./remote.ts";
import { forPeople, shownColumns } from "./result/people.ts";
import { type CommandProcess, READER_GONE, type Screen, screenOf } from "./screen.ts";
import { canWait, waitFor } from "./wait.ts";

/** One command with all that it needs. */
interface Command {
  operation: Operation;
  given: Arguments;
  catalog: Catalog;
  host: CommandProcess;
  screen: Screen;
}

/** Runs one command and returns its exit code: 0 done, 1 refused or failed, 2 wrong arguments, 141 no reader left. */
export async function runCommand(
  args: readonly string[],
  host: CommandProcess,
  open: (env: NodeJS.ProcessEnv) => Promise<Opened> = openConfigured,
  catalog: Catalog = CATALOG,
): Promise<number> {
  const screen = screenOf(host);
  const guide = guideFor(args, { catalog, host });
  if (guide) return guide.code === 0 ? screen.print(guide.text) : screen.complain(guide.text, guide.code);
  const operation = catalog.operations.get(args[0]!.replaceAll("-", "_"))!;
  const help = `See ${programOf(host.env)} ${args[0]} --help`;
  let given: Arguments;
  try {
    const readText = (file: string) => readFile(file, "utf8");
    const parsed = await parseArguments(operation, args.slice(1), readText, host.env);
    given = settled(operation, parsed, host);
  } catch (error) {
    return screen.complain(`${refusalText(toFault(error), operation, catalog)}\n${help}`, 2);
  }
  try {
    return await run({ operation, given, catalog, host, screen }, open);
  } catch (error) {
    if (screen.isUnread()) return READER_GONE;
    if (error instanceof ConfigError) return screen.complain(error.message, 2);
    const fault = toFault(error);
    if (given.format === "json") await screen.print(JSON.stringify(faultBody(fault)));
    return screen.complain(complaint(fault, operation, catalog), fault.code === "invalid" ? 2 : 1);
  }
}

function complaint(fault: Fault, operation: Operation, catalog: Catalog): string {
  return fault.code === "internal" ? String(fault.cause ?? fault) : refusalText(fault, operation, catalog);
}

/** The arguments with the defaults of this face. Throws `invalid` for what does not go together. */
function settled(operation: Operation, given: Arguments, { stdout }: CommandProcess): Arguments {
  const { format, out, withPage, wait } = given;
  if (withPage && !isList(operation)) throw invalid("--with-page", "is for lists");
  if (wait && !canWait(operation.name)) throw invalid("--wait", "is for imports, sends and validations");
  if (operation.file && !out && stdout.isTTY) {
    throw invalid("--out", "names the file to write; --out - prints it here");
  }
  const input = withPaging(operation, given.input);
  const isShort = operation.crud?.verb === "list" && format === "table" && input.select === undefined;
  return {
    ...given,
    format: withPage ? "json" : format,
    input: isShort ? { ...input, select: shownColumns(operation.crud!.table).join(",") } : input,
  };
}

async function run(command: Command, open: (env: NodeJS.ProcessEnv) => Promise<Opened>): Promise<number> {
  const { given, host } = command;
  const service = given.url ? null : await open(host.env);
  const isFile = given.out !== undefined && given.out !== "-";
  try {
    const destination = isFile ? await toFile(given.out!) : toStdout(host.stdout);
    try {
      return await answer(command, service, destination);
    } catch (error) {
      await destination.drop();
      throw error;
    }
  } finally {
    await service?.close();
  }
}

async function answer(command: Command, service: Opened | null, destination: Destination): Promise<number> {
  const { operation, given, catalog, host, screen } = command;
  const rows = operation.file && given.format === "json" ? jsonRows(destination.stream) : null;
  const out = rows?.stream ?? destination.stream;
  const call = async (asked: Operation, args: Arguments): Promise<CommandResult> => {
    if (service) return callLocal(asked, args, out, service);
    // Its HTTP client takes a tenth of a command's start, and most commands need none.
    const { callRemote } = await import("./remote.ts");
    return callRemote(asked, args, out);
  };
  const result = await call(operation, given);
  await rows?.end();
  if (operation.file) return kept(destination, screen);
  let value = JSON.parse(result.body);
  let { body } = result;
  let code = 0;
  if (waits(command) && value.dry_run !== true) {
    const ask = async (name: string, input: Record<string, unknown>) =>
      JSON.parse(
        (await call(catalog.operations.get(name)!, { ...given, input, idempotencyKey: undefined })).body,
      );
    const ended = await waitFor(operation.name, value, given, { ask, screen });
    value = ended.result;
    body = JSON.stringify(value);
    code = ended.failed ? 1 : 0;
  }
  const position = positionOf(operation, given, result);
  const text = textOf(
    command,
    value,
    given.withPage ? `{"items":${body},"page":${JSON.stringify(position)}}` : body,
  );
  const printed =
    destination.stream === host.stdout ? await screen.print(text) : await fileText(destination, text, screen);
  if (printed !== 0) return printed;
  for (const said of [...(result.warnings ?? []), ...(result.page?.warnings ?? [])])
    await screen.complain(said, 0);
  if (position && !given.withPage) await screen.complain(nextPageHint(position, given), 0);
  const next =
    given.format === "table"
      ? nextLine(operation, value, { ...given, input: result.input }, programOf(host.env))
      : null;
  if (next) await screen.note(next);
  return code;
}

/** Whether the command waits for what it starts: where it is told to, and by itself in a terminal. */
function waits({ operation, given, host }: Command): boolean {
  if (!canWait(operation.name)) return false;
  return given.wait ?? (given.format === "table" && host.stderr.isTTY === true);
}

async function fileText(destination: Destination, text: string, screen: Screen): Promise<number> {
  await new Promise((resolve) => destination.stream.write(`${text}\n`, resolve));
  return kept(destination, screen);
}

async function kept(destination: Destination, screen: Screen): Promise<number> {
  const said = await destination.keep();
  if (said) await screen.note(said);
  return 0;
}

/** The result in the format that was asked for; `body` is its JSON. */
function textOf({ operation, given, catalog, host, screen }: Command, value: unknown, body: string): string {
  if (given.format === "json") return body;
  if (given.format === "csv") return csvOf(operation, value, given).trimEnd();
  const width = given.out ? undefined : host.stdout.columns;
  const heading = (text: string) => screen.style("bold", text);
  return forPeople(operation, value, given, { catalog, width, heading });
}

/** One record or several as CSV. */
function csvOf({ crud }: Operation, value: unknown, { input }: Arguments): string {
  const rows = [value].flat() as Record<string, unknown>[];
  const columns = crud ? readableOf(crud.table).columns : {};
  const chosen = typeof input.select === "string" ? input.select.split(",").map((name) => name.trim()) : null;
  const known = rows.length > 0 ? rows.flatMap((row) => Object.keys(row)) : Object.keys(columns);
  return csvRows([...new Set(chosen ?? known)], rows, (name) => columns[name]?.type);
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
