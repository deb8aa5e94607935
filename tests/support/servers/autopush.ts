import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";

/**
 * Mozilla's push service for one Firefox: a WebSocket to the browser (hello, register, notification, ack) and an
 * address to which messages are posted. https://mozilla-services.github.io/autopush-rs/architecture.html
 */
export async function openAutopush() {
  const channels = new Map<string, WebSocket>();
  const posted: string[] = [];
  const acknowledged = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const channelID = /^\/wpush\/([\w-]+)$/.exec(request.url ?? "")?.[1] ?? "";
    const body = await buffer(request);
    const browser = channels.get(channelID);
    if (!browser) return void response.writeHead(410).end();
    posted.push(channelID);
    const encoding = request.headers["content-encoding"];
    const message = {
      channelID,
      version: randomUUID(),
      data: body.toString("base64url"),
      headers: { encoding },
    };
    browser.send(JSON.stringify({ messageType: "notification", ...message }));
    response.writeHead(201, { location: `${base("http")}/m/1` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = (scheme: string) => `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (browser) => {
    browser.on("message", (data) => {
      const said = JSON.parse(String(data));
      const answer = (more: object) =>
        browser.send(JSON.stringify({ messageType: said.messageType, status: 200, ...more }));
      if (said.messageType === "hello")
        answer({ uaid: said.uaid || randomUUID().replaceAll("-", ""), use_webpush: true });
      if (said.messageType === "ack") acknowledged.resolve();
      if (said.messageType === "unregister") answer({ channelID: said.channelID });
      if (said.messageType === "register") {
        channels.set(said.channelID, browser);
        answer({ channelID: said.channelID, pushEndpoint: `${base("http")}/wpush/${said.channelID}` });
      }
    });
  });
  return {
    url: base("ws"),
    posted,
    /** The browser has decrypted a message and handed it to its worker. */
    acknowledged: acknowledged.promise,
    close: async () => {
      for (const browser of sockets.clients) browser.terminate();
      sockets.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
