import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { openNames, type Resolve } from "#runtime/network/dns-lookup.ts";
import { outgoing } from "#runtime/network/outgoing.ts";
import { AddressRefused, type OutgoingOptions } from "#runtime/network/public-address.ts";
import { dnsServer } from "../../support/servers/dns-server.ts";

const PLAIN: OutgoingOptions = { allowPrivate: false, allowHttp: true };
const LOCAL: OutgoingOptions = { allowPrivate: true, allowHttp: true };
// Inside 2000::/3 and so public by the rules, but given to nobody: a connection to it reaches no one.
const UNROUTED = "3000::1";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Receiver {
  port: number;
  hits: () => number;
}

async function listen(server: Server, host: string): Promise<Receiver> {
  let hits = 0;
  server.on("connection", () => {
    hits += 1;
  });
  await new Promise<void>((ready) => server.listen(0, host, ready));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port, hits: () => hits };
}

function receiver(listener: RequestListener = (_, response) => response.end("ok")): Promise<Receiver> {
  return listen(createServer(listener), "127.0.0.1");
}

function client(options: OutgoingOptions, resolve?: Resolve) {
  const made = outgoing(options, resolve);
  cleanups.push(() => made.close());
  return made;
}

const post = { headers: { "content-type": "application/json" }, body: '{"id":"evt_1"}' };
const answers = (...addresses: string[]) =>
  addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe("a name that is resolved again", () => {
  test("is refused when the second answer is private, and the receiver there hears nothing", async () => {
    const inside = await receiver();
    const replies = [UNROUTED, "127.0.0.1"];
    let asked = 0;
    const target = client(PLAIN, async () => answers(replies[asked++] ?? "127.0.0.1"));
    const url = `http://rebind.example.com:${inside.port}/`;
    // The first answer passed the check: only that address may be tried, and nobody is there.
    await expect(target.post({ url, ...post, timeoutMs: 300 })).rejects.not.toThrow(AddressRefused);
    expect(asked).toBe(1);
    await expect(target.post({ url, ...post })).rejects.toThrow(AddressRefused);
    expect(inside.hits()).toBe(0);
  });

  test("reaches only the public ones of several addresses", async () => {
    const inside = await receiver();
    const target = client(PLAIN, async () => answers("127.0.0.1", UNROUTED, "::ffff:127.0.0.1"));
    const url = `http://mixed.example.com:${inside.port}/`;
    await expect(target.post({ url, ...post, timeoutMs: 300 })).rejects.not.toThrow(AddressRefused);
    expect(inside.hits()).toBe(0);
  });

  test("is asked for once a connection, which is then used again", async () => {
    const asked: string[] = [];
    const { port, hits } = await receiver();
    const target = client(LOCAL, async (name) => {
      asked.push(name);
      return answers("127.0.0.1");
    });
    for (let i = 0; i < 10; i += 1) await target.post({ url: `http://receiver.test:${port}/`, ...post });
    expect(asked.length).toBe(hits());
    // Two, not one: undici frees a connection a moment after it has given the answer.
    expect(hits()).toBeLessThanOrEqual(2);
  });

  test("does not say in its refusal which private address it has", async () => {
    const target = client(PLAIN, async () => answers("10.1.2.3"));
    const refusal = await target
      .post({ url: "http://a.example.com/", ...post })
      .catch((error: Error) => error);
    expect(String(refusal)).toBe(
      "AddressRefused: The host a.example.com has no address on the public internet.",
    );
  });
});

test("a redirect is an answer, and is not followed", async () => {
  const inside = await receiver();
  for (const status of [301, 302, 303, 307, 308]) {
    const { port } = await receiver((_, response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${inside.port}/` }).end(),
    );
    const answer = await client(LOCAL).post({
      url: `http://127.0.0.1:${port}/`,
      ...post,
    });
    expect(answer.status).toBe(status);
  }
  expect(inside.hits()).toBe(0);
});

test("the receiver gets the body, the headers, the path and the host that the URL names", async () => {
  const { port } = await receiver(async (request, response) => {
    const chunks = await request.toArray();
    const { method, url, headers } = request;
    response.writeHead(201, {
      "Retry-After": "7",
      "Set-Cookie": ["a=1", "b=2"],
    });
    response.end(
      JSON.stringify({
        method,
        url,
        host: headers.host,
        type: headers["content-type"],
        body: chunks.join(""),
      }),
    );
  });
  const answer = await client(LOCAL, async () => answers("127.0.0.1")).post({
    url: `http://receiver.test:${port}/Hook?A=1#part`,
    headers: { "Content-Type": "application/json" },
    body: '{"name":"Zoë"}',
  });
  expect(answer.status).toBe(201);
  expect(answer.headers).toMatchObject({
    "retry-after": "7",
    "set-cookie": "a=1, b=2",
  });
  expect(answer.durationMs).toBeGreaterThanOrEqual(0);
  expect(JSON.parse(answer.snippet)).toEqual({
    method: "POST",
    url: "/Hook?A=1",
    host: `receiver.test:${port}`,
    type: "application/json",
    body: '{"name":"Zoë"}',
  });
});

test("of an answer one KiB is kept, without half a character and without NUL", async () => {
  const { port } = await receiver((_, response) => response.end(`\0${"é".repeat(1000)}`));
  const { snippet } = await client(LOCAL).post({
    url: `http://127.0.0.1:${port}/`,
    ...post,
  });
  expect(snippet).toBe(`\uFFFD${"é".repeat(511)}`);
});

test("an answer without an end is cut off", async () => {
  let sent = 0;
  const { port } = await receiver((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(16_384))) sent += 16_384;
    };
    response.on("drain", more);
    more();
  });
  const { status, snippet } = await client(LOCAL).post({
    url: `http://127.0.0.1:${port}/`,
    ...post,
  });
  expect(status).toBe(200);
  expect(snippet).toBe("x".repeat(1024));
  expect(sent).toBeLessThan(32 * 1024 * 1024);
});

describe("a receiver that is slow", () => {
  const silent: RequestListener = (request) => request.resume();
  const stuck: RequestListener = (_, response) => response.write("x");

  test.each([
    ["never answers", silent],
    ["never ends its answer", stuck],
  ])("is given up when it %s", async (_, listener) => {
    const { port } = await receiver(listener);
    const request = client(LOCAL).post({
      url: `http://127.0.0.1:${port}/`,
      ...post,
      timeoutMs: 100,
    });
    await expect(request).rejects.toMatchObject({
      name: "TimeoutError",
      message: /100 ms/,
    });
  });

  test("is given up when its name is never resolved", async () => {
    const target = client(LOCAL, () => new Promise(() => {}));
    const request = target.post({
      url: "http://receiver.test/",
      ...post,
      timeoutMs: 100,
    });
    await expect(request).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("holds 128 connections at most", async () => {
    const waiting: (() => void)[] = [];
    const { port, hits } = await receiver((_, response) => {
      waiting.push(() => response.end());
      if (waiting.length >= 128) for (const answer of waiting) answer();
    });
    const target = client(LOCAL);
    const url = `http://127.0.0.1:${port}/`;
    await Promise.all(Array.from({ length: 200 }, () => target.post({ url, ...post })));
    expect(hits()).toBe(128);
  });
});

test("a receiver that refuses the connection or hangs up is an ordinary error", async () => {
  const { port } = await receiver((request) => request.socket.destroy());
  const hangsUp = client(LOCAL).post({
    url: `http://127.0.0.1:${port}/`,
    ...post,
  });
  await expect(hangsUp).rejects.not.toThrow(AddressRefused);
  const unknown = client(PLAIN, () => Promise.reject(new Error("getaddrinfo ENOTFOUND")));
  await expect(unknown.post({ url: "http://a.example.com/", ...post })).rejects.toThrow("ENOTFOUND");
});

test("over TLS the certificate must be of the name in the URL, at every address", async () => {
  const before = getCACertificates("default");
  cleanups.push(() => setDefaultCACertificates(before));
  setDefaultCACertificates([...before, CERTIFICATE]);
  const names: unknown[] = [];
  const server = createTlsServer({ key: PRIVATE_KEY, cert: CERTIFICATE }, (_, response) =>
    response.end("ok"),
  );
  server.on("secureConnection", (socket) => names.push(socket.servername));
  const { port } = await listen(server, "127.0.0.1");
  const target = client({ allowPrivate: true, allowHttp: false }, async () => answers("127.0.0.1"));
  expect(await target.post({ url: `https://receiver.test:${port}/`, ...post })).toMatchObject({
    status: 200,
  });
  expect(names).toEqual(["receiver.test"]);
  await expect(target.post({ url: `https://rival.test:${port}/`, ...post })).rejects.toMatchObject({
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
});

// Self-signed for receiver.test, to the year 2125; made for this file, trusted nowhere else.
const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4r1s5QiWuK1N9gwD
7Lgw5qGAIkYnwR9LiWKSSW8yS3ahRANCAATZ1OXtDox5+pSkIFz1ROh/BvfqGOzS
+N6hJHjK2jWCtI/3Br+yFYhWlF8xvgadS27VgGoHENfRY7iSc+78ukTQ
-----END PRIVATE KEY-----
`;
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBojCCAUegAwIBAgIUN+Ccx0A0iTNkIE787s8B3QCGJ7owCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDAgFw0yNjExMjEwOTM1NTNaGA8yMTI2
MTAyODA5MzU1M1owGDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABNnU5e0OjHn6lKQgXPVE6H8G9+oY7NL43qEkeMraNYK0
j/cGv7IViFaUXzG+Bp1LbtWAagcQ19FjuJJz7vy6RNCjbTBrMB0GA1UdDgQWBBSC
IiQIUDROdt8bYd12v8m8McBhxDAfBgNVHSMEGDAWgBSCIiQIUDROdt8bYd12v8m8
McBhxDAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDXJlY2VpdmVyLnRlc3Qw
CgYIKoZIzj0EAwIDSQAwRgIhAOwBYwwry9S9ub1asKLnv6PJf6Ywwxf8VyQOLzDY
hXwCAiEA6iUIhYySLnJKHjS8x9PwccCMNuFZnRWLdlDR61RVtoA=
-----END CERTIFICATE-----
`;

describe("names whose servers do not answer", () => {
  test("hold up no other receiver, and each is asked for once however many wait for it", async () => {
    const there = await receiver();
    const silent = Array.from({ length: 8 }, (_, n) => `silent${n}.example.com`);
    const zones = Object.fromEntries(silent.map((name) => [name, { silent: true } as const]));
    const server = await dnsServer({ ...zones, "there.example.com": { a: "127.0.0.1" } });
    cleanups.push(server.stop);
    const target = client(LOCAL, openNames({ servers: [server.address] }));
    const send = (name: string) =>
      target.post({ url: `http://${name}:${there.port}/`, ...post, timeoutMs: 1_000 });
    const stuck = silent.flatMap((name) => [send(name), send(name)]).map((one) => one.catch(() => "stuck"));
    expect((await send("there.example.com")).status).toBe(200);
    expect(await Promise.all(stuck)).toEqual(Array(16).fill("stuck"));
    expect(server.asked.filter((question) => question === "a silent3.example.com")).toHaveLength(1);
  });

  test("are not asked of the DNS when the hosts file has them, and are checked all the same", async () => {
    const there = await receiver();
    const folder = await mkdtemp(join(tmpdir(), "hosts-"));
    cleanups.push(() => rm(folder, { recursive: true }));
    const hosts = join(folder, "hosts");
    await writeFile(hosts, "# ours\n127.0.0.1 other.example.com Listed.example.com # both\n");
    const server = await dnsServer({});
    cleanups.push(server.stop);
    const names = openNames({ servers: [server.address], hosts });
    const url = `http://listed.example.com:${there.port}/`;
    expect((await client(LOCAL, names).post({ url, ...post })).status).toBe(200);
    await expect(client(PLAIN, names).post({ url, ...post })).rejects.toThrow(AddressRefused);
    expect(server.asked).toEqual([]);
    await expect(names("missing.example.com")).rejects.toMatchObject({ code: "ENOTFOUND" });
    expect(await openNames()("localhost")).toContainEqual({ address: "127.0.0.1", family: 4 });
  });
});
