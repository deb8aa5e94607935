import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as secure } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callApi } from "#runtime/channels/provider/vendor-api.ts";

const folder = mkdtempSync(join(tmpdir(), "vendor-api-"));
const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
const servers: Server[] = [];
const opened = async (server: Server): Promise<number> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};
let asked = 0;
const tls = (options: object = {}) =>
  secure({ key: readFileSync(key), cert: readFileSync(cert), ...options }, (_, response) => {
    asked += 1;
    response.end("{}");
  });

beforeAll(() => {
  const pair = ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert];
  execFileSync("openssl", ["req", "-x509", ...pair, "-days", "1", "-subj", "/CN=another.example"], {
    stdio: "ignore",
  });
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

const ask = (port: number) =>
  callApi(new Request(`https://127.0.0.1:${port}/`, { method: "POST", body: "x" }));

test.each<[string, () => Server]>([
  ["whose certificate nobody vouches for", () => tls()],
  [
    "that speaks an old TLS alone",
    () => tls({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
  ],
  [
    "with which no cipher is shared",
    () => tls({ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }),
  ],
  ["that cuts the connection at once", () => createServer((socket) => socket.destroy())],
  [
    "that cuts the connection in the handshake",
    () => createServer((socket) => socket.once("data", () => socket.destroy())),
  ],
])("a vendor %s has certainly not taken a message", async (_, server) => {
  expect(await ask(await opened(server()))).toMatchObject({ reached: false });
  expect(asked).toBe(0);
});
