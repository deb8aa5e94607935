import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Its answer to a message that is new to it. */
const TROUBLES = ["refused", "lost", "taken", "silent", "cut"] as const;
type Trouble = (typeof TROUBLES)[number];

/** It takes this number of messages, and then none while it rests. */
const TAKES = 100;
const RESTS_SECONDS = 2;
/** Each holds a whole batch up until the service gives up waiting. */
const SILENCES = 2;
/** A clock's tick between two processes. */
const TOLERANCE = 50;

export interface Vendor {
  url: string;
  /** The receivers of the messages that it took, once for each key. */
  accepted(): string[];
  /** How often each trouble was made, and it said when to come back. */
  made: Map<Trouble | "busy", number>;
  /** Messages that came back before they were told to. */
  early(): number;
  stop(): Promise<void>;
}

/** Resend, as it is on a bad day: it knows a message again by its key, and one in ten goes wrong at first. */
export async function badVendor(): Promise<Vendor> {
  const taken = new Map<string, string>();
  const heard = new Set<string>();
  const notBefore = new Map<string, number>();
  const made: Vendor["made"] = new Map();
  let early = 0;
  let sinceRest = 0;
  let restsUntil = 0;
  const count = (what: Trouble | "busy") => void made.set(what, (made.get(what) ?? 0) + 1);
  const take = (key: string, to: string) => {
    if (!taken.has(key)) sinceRest++;
    taken.set(key, to);
    if (sinceRest < TAKES) return;
    sinceRest = 0;
    restsUntil = performance.now() + RESTS_SECONDS * 1_000;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const key = String(request.headers["idempotency-key"]);
    const { to } = JSON.parse(await text(request)) as { to: [string] };
    const now = performance.now();
    if (now < (notBefore.get(key) ?? 0) - TOLERANCE) early++;
    if (now < restsUntil) {
      count("busy");
      const seconds = Math.ceil((restsUntil - now) / 1_000);
      notBefore.set(key, now + seconds * 1_000);
      return say(response, 429, { name: "rate_limit_exceeded", message: "Slow down." }, seconds);
    }
    const next = heard.has(key) || heard.size % 10 !== 0 ? null : TROUBLES[(heard.size / 10) % 5]!;
    const trouble = next === "silent" && (made.get(next) ?? 0) >= SILENCES ? "lost" : next;
    heard.add(key);
    if (trouble) count(trouble);
    if (trouble === "refused") {
      notBefore.set(key, now + 1_000);
      return say(response, 429, { name: "rate_limit_exceeded", message: "Slow down." }, 1);
    }
    if (trouble !== "lost" && trouble !== "silent") take(key, to[0]);
    if (trouble === "silent") return;
    if (trouble === "lost" || trouble === "taken")
      return say(response, 500, { message: "Something failed." });
    if (trouble !== "cut") return say(response, 200, { id: `v-${key}` });
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
    response.write('{"id":"v-', () => response.destroy());
  };
  const server = createServer((request, response) => {
    // A service that gives up waiting resets its connection.
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted: () => [...taken.values()],
    made,
    early: () => early,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function say(response: ServerResponse, status: number, body: object, retryAfter?: number): void {
  response.writeHead(status, {
    "Content-Type": "application/json",
    ...(retryAfter !== undefined && { "Retry-After": String(retryAfter) }),
  });
  response.end(JSON.stringify(body));
}
