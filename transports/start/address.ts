import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { giveToOwner } from "#db/embedded/lock.ts";
import type { Config, Settings } from "#runtime/config.ts";

type Addresses = Pick<Config, "baseUrl" | "siteUrl">;

/** Writes the addresses of the service that runs over a data folder, for the commands beside it. */
export async function noteAddresses({ dataDir, baseUrl, siteUrl }: Config): Promise<void> {
  await writeFile(fileIn(dataDir), JSON.stringify({ baseUrl, siteUrl } satisfies Addresses));
  await giveToOwner(dataDir, fileIn(dataDir));
}

/** The settings with the addresses of the running service, unless the environment names others. */
export function atNotedAddresses(settings: Settings): Settings {
  const { explicit, dataDir } = settings;
  const noted = notedIn(dataDir);
  return {
    ...settings,
    ...(noted && !explicit.baseUrl && { baseUrl: noted.baseUrl }),
    ...(noted && !explicit.siteUrl && { siteUrl: explicit.baseUrl ? settings.siteUrl : noted.siteUrl }),
  };
}

function notedIn(dataDir: string): Addresses | null {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, "addresses.json");
}
