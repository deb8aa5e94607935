import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startService } from "../support/service.ts";

const REQUEST = "GET /.well-known/jwks.json HTTP/1.1\r\nHost: casino\r\n\r\n";

test("a request on a kept connection is answered though the service is stopping, and is its last", async () => {
  const service = await startService();
  try {
    const socket = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
    let received = "";
    socket.setEncoding("utf8").on("data", (text) => {
      received += text;
    });
    socket.write(REQUEST);
    await expect.poll(() => received).toMatch(/^HTTP\/1\.1 200 .*keep-alive.*\{.*\}$/is);
    received = "";
    const closing = service.running.listening!.close();
    socket.write(REQUEST);
    await once(socket, "end");
    expect(received).toMatch(/^HTTP\/1\.1 200 .*connection: close.*\{.*\}$/is);
    await closing;
  } finally {
    await service.stop();
  }
});
