import { execFile } from "node:child_process";
import { Writable } from "node:stream";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { flagOf } from "#transports/cli/arguments.ts";
import { runCommand } from "#transports/cli/run.ts";
import { ROOT } from "./checkout/source-files.ts";
import type { TestService } from "./service.ts";

/** Milliseconds after which a command counts as one that never ends; on a busy machine one takes 20 s. */
const NEVER_ENDS = 100_000;

export interface Printed {
  exit: number;
  stdout: string;
  stderr: string;
}

/** The operation's input as words on a command line. */
export function wordsOf(operation: Operation, input: Record<string, unknown>): string[] {
  const flags = Object.entries(input).flatMap(([field, value]) => [`--${flagOf(field)}`, written(value)]);
  return [operation.name.replaceAll("_", "-"), ...flags];
}

/** The output of a command: JSON, or a file as every face has it. */
export async function compared(
  service: TestService,
  operation: Operation,
  words: readonly string[],
): Promise<Printed> {
  // A download is recorded each time, and a refusal is not.
  const file = operation.file && (await inProcess(service, words));
  return file?.exit === 0 ? file : inProcess(service, [...words, "--json"]);
}

/** A command as an operator runs it: a process of its own over the service's database. */
export function asProcess(
  service: TestService,
  words: readonly string[],
  databaseUrl?: string,
): Promise<Printed> {
  const env = environment(service, databaseUrl);
  const options = { cwd: ROOT, env, timeout: NEVER_ENDS, killSignal: "SIGKILL" } as const;
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["transports/cli.ts", ...words], options, (error, stdout, stderr) => {
      if (error?.signal) return reject(new Error(`${words[0]} did not end: ${stdout} ${stderr}`));
      resolve({ exit: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** The same command without a process of its own, over the parts of a started service: a hundred in the time of one. */
export async function inProcess(
  service: TestService,
  words: readonly string[],
  catalog?: Catalog,
): Promise<Printed> {
  const stdout = sink();
  const stderr = sink();
  const open = async () => ({ ...service.internals, close: async () => {} });
  const surroundings = { env: environment(service), stdout: stdout.stream, stderr: stderr.stream };
  const exit = await runCommand(words, surroundings, open, catalog);
  return { exit, stdout: stdout.text(), stderr: stderr.text() };
}

/** The command line as the client of a service elsewhere, which has only the key. A refusal has a code. */
export async function overUrl(
  service: TestService,
  operation: Operation,
  input: Record<string, unknown>,
  key: string,
): Promise<{ code: string | null; text: string }> {
  const words = [...wordsOf(operation, input), "--service-url", service.baseUrl, "--api-key", key];
  const { exit, stdout, stderr } = await compared(service, operation, words);
  if (exit > 2 || stdout === "") throw new Error(`${operation.name}: ${stderr}`);
  return { code: exit > 0 ? JSON.parse(stdout).code : null, text: stdout };
}

/** The environment of a command over the service's database. */
export function environment(
  { database, internals }: TestService,
  databaseUrl = database.url,
): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, DATABASE_URL: databaseUrl, APP_SECRET: internals.config.appSecret };
}

function sink() {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      pieces.push(piece);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(pieces).toString() };
}

function written(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
