import { execFile } from "node:child_process";
import type { Operation } from "#runtime/operation.ts";
import { flagOf } from "#transports/cli-arguments.ts";
import type { House } from "../support/house.ts";
import { ROOT } from "./sources.ts";

/** Milliseconds after which a command counts as one that never ends; on a busy machine one takes 20 s. */
const NEVER_ENDS = 100_000;

export interface Printed {
  exit: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  data: any;
  stderr: string;
}

/** The operation as an operator runs it: a process of its own over the house's database. */
export function overCli(
  house: House,
  operation: Operation,
  input: Record<string, unknown>,
): Promise<Printed> {
  const { config } = house.service;
  const flags = Object.entries(input).flatMap(([field, value]) => [`--${flagOf(field)}`, written(value)]);
  const words = [
    "transports/cli.ts",
    operation.name.replaceAll("_", "-"),
    "--json",
    "--property",
    house.tenant.id,
  ];
  const env = { PATH: process.env.PATH, DATABASE_URL: house.database.url, APP_SECRET: config.appSecret };
  const options = { cwd: ROOT, env, timeout: NEVER_ENDS, killSignal: "SIGKILL" } as const;
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...words, ...flags], options, (error, stdout, stderr) => {
      if (error?.signal) return reject(new Error(`${operation.name} did not end: ${stdout} ${stderr}`));
      resolve({ exit: Number(error?.code ?? 0), data: stdout ? JSON.parse(stdout) : null, stderr });
    });
  });
}

function written(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
