import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { runCommand } from "#transports/cli/run.ts";

export const MAIN = fileURLToPath(new URL("../../../transports/main.ts", import.meta.url));

/** A start that is to fail: what it says, and its exit code. */
export async function failingStart(environment: Record<string, string>, main = MAIN, words: string[] = []) {
  const child = spawn(process.execPath, [main, ...words], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  const [code] = await once(child, "close");
  return { code, said };
}

/** A command in this process: what it says and prints, and its exit code. */
export async function command(words: string[], env: Record<string, string>) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCommand(words, { env, stdout, stderr });
  return { code, said: String(stderr.read() ?? ""), printed: String(stdout.read() ?? "") };
}
