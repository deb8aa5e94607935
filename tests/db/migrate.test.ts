import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { migrate } from "#db/migrate.ts";

test("what closes every connection, or says nothing at all, is given up and not asked for ever", async () => {
  for (const closes of [true, false]) {
    const server = createServer((socket) => {
      socket.on("error", () => {}).resume();
      if (closes) socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const given = migrate(`postgres://u:secret@127.0.0.1:${port}/x`, 300);
    await expect(given).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
    server.close();
    // Nobody tries it any more.
    await once(server, "close");
  }
});
