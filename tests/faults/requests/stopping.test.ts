import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import postgres from "postgres";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openLive } from "#transports/console/live/watch.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";

const REQUEST = "GET /.well-known/jwks.json HTTP/1.1\r\nHost: casino\r\n\r\n";
const CALL = "/api/callbacks/conversation-relay/00000000-0000-7000-8000-000000000000";

let service: TestService;
let admin: postgres.Sql;

beforeEach(async () => {
  service = await startService();
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
});
afterEach(async () => {
  await admin.end();
  await service.stop();
});

/** Sends the bytes on a connection of which our half stays open. */
function dial(bytes: string): Socket {
  const port = Number(new URL(service.baseUrl).port);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.write(bytes);
  return socket;
}

/** Whether it has ended once everything that was ready has run. */
async function hasEnded(work: Promise<unknown>): Promise<boolean> {
  let ended = false;
  void work.then(() => {
    ended = true;
  });
  await nextTurn();
  return ended;
}

test("a request on a kept connection is answered though the service is stopping, and is its last", async () => {
  const socket = dial(REQUEST);
  let received = "";
  socket.setEncoding("utf8").on("data", (text) => {
    received += text;
  });
  await expect.poll(() => received).toMatch(/^HTTP\/1\.1 200 .*keep-alive.*\{.*\}$/is);
  received = "";
  const closing = service.running.listening!.close();
  socket.write(REQUEST);
  await once(socket, "end");
  expect(received).toMatch(/^HTTP\/1\.1 200 .*connection: close.*\{.*\}$/is);
  socket.end();
  await closing;
});

test("a request that its caller has left is brought to its end before the service stops", async () => {
  const release = await openTransaction(admin, (sql) => sql`lock table players`);
  const body = JSON.stringify({ player_id: "left" });
  const head = [
    "POST /api/players HTTP/1.1",
    "Host: casino",
    `X-Api-Key: ${service.tenant.key}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  const socket = dial(`${head.join("\r\n")}\r\n\r\n${body}`);
  await lockWaits(admin, 1);
  const { server } = service.running.listening!;
  const closed = once(server, "close");
  const stopping = service.running.stop();
  socket.destroy();
  await closed;
  expect(await hasEnded(stopping)).toBe(false);
  await release();
  await stopping;
  expect(await admin`select player_id from players`).toEqual([{ player_id: "left" }]);
});

test("a refused WebSocket of which the other side keeps its half open does not hold a stop up", async () => {
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const path = `${CALL}/00000000-0000-7000-8000-000000000000/1234567890.${"a".repeat(43)}`;
  const socket = dial(`GET ${path} HTTP/1.1\r\nHost: casino\r\n${upgrade}\r\n`);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toContain("404 Not Found");
  await service.running.stop();
  socket.destroy();
});

test("streams that close open no new one, and wait for the look that is under way", async () => {
  const live = openLive(service.internals);
  const { id: userId } = await service.signIn();
  const signedInAt = Math.floor(Date.now() / 1_000);
  const subject = {
    propertyId: service.tenant.id,
    userId,
    session: undefined,
    signedInAt,
    signedInUntil: signedInAt + 3_600,
    ids: [],
    lists: ["campaigns" as const],
  };
  const release = await openTransaction(admin, (sql) => sql`lock table campaigns`);
  const end = vi.fn();
  live.open(subject, { write: () => {}, end });
  await lockWaits(admin, 1);
  const closing = live.close();
  expect(end).toHaveBeenCalledOnce();
  expect(() => live.open(subject, { write: () => {}, end })).toThrow();
  expect(await hasEnded(closing)).toBe(false);
  await release();
  await closing;
});

test("a service that cannot listen leaves no worker and no connection behind", async () => {
  const { port } = new URL(service.baseUrl);
  const sessions = async () => {
    const [row] = await admin`
      select count(*)::int as sessions from pg_stat_activity
      where datname = current_database() and application_name = 'marketing'`;
    return row!.sessions;
  };
  const { database } = service;
  // It has a port before the service gives its own back.
  const holder = await startService({ role: "web" }, {});
  await service.running.stop();
  const taken = Number(new URL(holder.baseUrl).port);
  expect(taken).not.toBe(Number(port));
  await expect(startService({ port: taken }, { database })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await vi.waitFor(async () => expect(await sessions()).toBe(0), { timeout: 10_000, interval: 20 });
  await holder.stop();
});
