import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { ConfigError, onPort, type Settings } from "#runtime/config.ts";
import { say } from "./welcome.ts";

/**
 * The settings with a port that can be listened on: a port that was asked for must be free, and the usual one
 * gives way to another.
 */
export async function withFreePort(settings: Settings): Promise<Settings> {
  const { host, port, role, said } = settings;
  if (role === "worker") return settings;
  if (port !== 0 && (await portThatIsFree(host, port)) !== null) return settings;
  if (said.port && port !== 0) {
    throw new ConfigError(`PORT: ${port} is in use on ${host}. Choose another one, or stop what uses it.`);
  }
  const free = (await portThatIsFree(host, 0))!;
  if (port !== 0) say(`Port ${port} is in use, so this start takes ${free}. Set PORT to choose.`);
  return onPort(settings, free);
}

async function portThatIsFree(host: string, port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return null;
    throw new ConfigError(`HOST, PORT: cannot listen on ${host}:${port} (${code}).`);
  } finally {
    server.close();
  }
}
