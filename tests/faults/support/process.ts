import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { until } from "./fault.ts";

const MAIN = fileURLToPath(new URL("../../../transports/main.ts", import.meta.url));
const PATIENCE = 60_000;
const OURS =
  /^(PORT|HOST|BASE_URL|SITE_URL|DATABASE_|DATA_DIR|ROLE|LOG_LEVEL|DEMO|APP_SECRET|JWT_|JWKS_|EMAIL_|SMTP_|RETENTION_)/;

/** `transports/main.ts` as a process of its own. */
export interface ServiceProcess {
  baseUrl: string;
  /** Ends it at once, as the system does. */
  kill(): Promise<void>;
  /** Asks it to stop; answers its exit code. */
  terminate(): Promise<number | null>;
  /** Its lines for people and for its log. */
  output(): string;
}

/** Starts a service on a free port, and waits until it says where it listens, or that it works on jobs alone. */
export async function startService(environment: Record<string, string>): Promise<ServiceProcess> {
  const rest = Object.entries(process.env).filter(([name]) => !OURS.test(name));
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...Object.fromEntries(rest),
      PORT: "0",
      DEMO: "off",
      LOG_LEVEL: "error",
      WEBHOOK_ALLOW_PRIVATE: "on",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // With its last words: `exit` comes before these are read.
  const ended = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = async (signal: NodeJS.Signals) => {
    if (!hasEnded()) child.kill(signal);
    await ended;
    return child.exitCode;
  };
  const address = () => {
    const said = /listens at (\S+)|works on jobs/.exec(output);
    return said ? (said[1] ?? "") : undefined;
  };
  try {
    await until("the service's start", PATIENCE, () => address() !== undefined || hasEnded());
    if (hasEnded()) {
      await ended;
      throw new Error(
        `the service ended (${child.exitCode ?? child.signalCode}) before it listened:\n${output}`,
      );
    }
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
  return {
    baseUrl: address()!,
    kill: async () => void (await end("SIGKILL")),
    terminate: () => end("SIGTERM"),
    output: () => output,
  };
}
