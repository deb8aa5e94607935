import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";

/** Debian's Firefox, or another one that FIREFOX names. */
const BINARY = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find(
  (path) => path && existsSync(path),
);

export interface Firefox {
  /** Opens an address in the tab, and waits until it has loaded. */
  open(url: string): Promise<void>;
  /** Runs an expression in the page, as if a person had just clicked. Answers its value, a text. */
  run(expression: string): Promise<string>;
  /** Allows the pages of an origin to show notifications, as a person does. */
  allowNotifications(origin: string): Promise<void>;
  close(): Promise<void>;
}

/** A Firefox with these preferences, driven by WebDriver BiDi. Null, with a line that says so, where there is none. */
export async function openFirefox(preferences: Record<string, string | boolean>): Promise<Firefox | null> {
  if (!BINARY) {
    console.warn("no Firefox on this machine: web push is tested without it (apt-get install firefox-esr)");
    return null;
  }
  const profile = await mkdtemp(join(tmpdir(), "firefox-"));
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  );
  await writeFile(join(profile, "user.js"), lines.join("\n"));
  const browser = spawn(
    BINARY,
    ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
    {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, HOME: profile },
    },
  );
  const stop = async () => {
    const ended = new Promise((resolve) => browser.once("exit", resolve));
    browser.kill("SIGKILL");
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const session = await openSession(`${await addressOf(browser)}/session`);
    const { contexts } = await session.call("browsingContext.getTree", {});
    const context = contexts[0].context;
    return {
      open: async (url) => {
        await session.call("browsingContext.navigate", { context, url, wait: "complete" });
      },
      run: async (expression) => {
        const { type, result, exceptionDetails } = await session.call("script.evaluate", {
          expression,
          target: { context },
          awaitPromise: true,
          userActivation: true,
        });
        if (type === "exception") throw new Error(exceptionDetails.text);
        return String(result.value);
      },
      allowNotifications: async (origin) => {
        const descriptor = { name: "notifications" };
        await session.call("permissions.setPermission", { descriptor, state: "granted", origin });
      },
      close: async () => {
        session.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address that Firefox tells on its standard error. */
async function addressOf({ stderr }: ChildProcess): Promise<string> {
  const said: string[] = [];
  const reading = createInterface({ input: stderr! });
  for await (const line of reading) {
    said.push(line);
    const address = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(line)?.[1];
    if (address) {
      // Its later output must be read too, or it stops.
      stderr!.resume();
      return address;
    }
  }
  throw new Error(`Firefox did not start: ${said.join("\n")}`);
}

async function openSession(address: string) {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  let last = 0;
  // biome-ignore lint/suspicious/noExplicitAny: the protocol's answers, as the test reads them
  const waiting = new Map<number, { resolve(value: any): void; reject(error: Error): void }>();
  socket.on("message", (data) => {
    const { id, type, result, error, message } = JSON.parse(String(data));
    const asked = waiting.get(id);
    waiting.delete(id);
    if (type === "error") asked?.reject(new Error(`${error}: ${message}`));
    else asked?.resolve(result);
  });
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const call = (method: string, params: object): Promise<any> => {
    last += 1;
    const id = last;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  await call("session.new", { capabilities: {} });
  return { call, close: () => socket.terminate() };
}
