import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type Config, ConfigError, readConfig } from "#runtime/config.ts";
import { say } from "./welcome.ts";

/**
 * The settings with a port that can be listened on: a port that was asked for must be free, and the usual one
 * gives way to another.
 */
export async function readConfigWithPort(environment: NodeJS.ProcessEnv): Promise<Config> {
  const config = readConfig(environment);
  if (config.role === "worker") return config;
  if (config.port !== 0 && (await portThatIsFree(config.host, config.port)) !== null) return config;
  if (environment.PORT && config.port !== 0) {
    throw new ConfigError(
      `PORT: ${config.port} is in use on ${config.host}. Choose another one, or stop what uses it.`,
    );
  }
  const free = await portThatIsFree(config.host, 0);
  if (config.port !== 0)
    say(`Port ${config.port} is in use, so this start takes ${free}. Set PORT to choose.`);
  return readConfig({ ...environment, PORT: String(free) });
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
