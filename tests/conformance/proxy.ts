import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A loopback server that hands everything on with a key: the suite has no option for a header. */
export async function keyed(baseUrl: string, key: string): Promise<{ url: string; close(): Promise<void> }> {
  const { hostname, port } = new URL(baseUrl);
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const onward = request({ hostname, port, method, path, headers: { ...headers, "x-api-key": key } });
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
