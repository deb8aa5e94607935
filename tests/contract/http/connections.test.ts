import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

const PER_NETWORK = 8;

let service: TestService;
beforeAll(async () => {
  const connections = { perNetwork: PER_NETWORK, lingerMs: 50, graceMs: 100, leastPace: 100_000 };
  service = await startService({ role: "web" }, { connections });
  service.running.listening!.server.headersTimeout = 100;
});
afterAll(() => service?.stop());

/** A client that keeps its half of the connection open after every answer. */
async function stranger(text = "") {
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  const ended = Promise.race([once(socket, "end"), once(socket, "close")]);
  await once(socket, "connect");
  socket.write(text);
  return { socket, ended, answer: () => answer };
}

/** Resolves once the service has no connection to strangers. */
async function noneOpen(): Promise<void> {
  const { server } = service.running.listening!;
  for (;;) {
    const open = await new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    if (open === 0) return;
    await new Promise(setImmediate);
  }
}

describe("a connection whose other side never ends it", () => {
  test.each([
    ["says nothing", "", 408],
    ["never ends its headers", "GET /api/players HTTP/1.1\r\nHost: x\r\nX-Slow: ", 408],
    ["wants a proxy", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405],
    ["is no HTTP", "NONSENSE\r\n\r\n", 400],
  ])("and that %s is refused and destroyed", async (_, text, status) => {
    const { socket, ended, answer } = await stranger(text);
    await ended;
    expect(answer()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    await noneOpen();
    socket.destroy();
  });

  test("and whose body trickles is refused and destroyed", async () => {
    const head = ["POST /api/players HTTP/1.1", "Host: x", `X-Api-Key: ${service.tenant.key}`];
    const { socket, ended, answer } = await stranger(
      [...head, "Content-Type: application/json", "Content-Length: 1000000", "", "{"].join("\r\n"),
    );
    const trickle = setInterval(() => socket.write(" "), 20);
    await ended;
    clearInterval(trickle);
    expect(answer()).toMatch(/^HTTP\/1\.1 408 /);
    await noneOpen();
    socket.destroy();
  });
});

test("a network has no more connections than its share, and new ones once others have ended", async () => {
  const { server } = service.running.listening!;
  server.headersTimeout = 60_000;
  try {
    const kept: Socket[] = [];
    for (let n = 0; n < PER_NETWORK; n++) kept.push((await stranger()).socket);
    const tooMany = await stranger();
    await tooMany.ended;
    expect(tooMany.answer()).toBe("");
    for (const socket of kept) socket.destroy();
    await noneOpen();
    expect((await service.get("/api/players")).status).toBe(200);
  } finally {
    server.headersTimeout = 100;
  }
});
