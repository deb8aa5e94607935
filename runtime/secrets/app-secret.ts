import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { giveToOwner } from "#db/embedded/lock.ts";

/** The generated secret in the data folder; null where there is none. */
export function storedSecret(dataDir: string): string | null {
  try {
    return readFileSync(fileIn(dataDir), "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** The generated secret, made at the first start. Only for a process that has locked the folder. */
export async function makeSecret(dataDir: string): Promise<string> {
  const stored = storedSecret(dataDir);
  if (stored) return stored;
  const secret = randomBytes(32).toString("hex");
  writeFileSync(fileIn(dataDir), secret, { mode: 0o600 });
  await giveToOwner(dataDir, fileIn(dataDir));
  return secret;
}

function fileIn(dataDir: string): string {
  return join(dataDir, "app-secret");
}
