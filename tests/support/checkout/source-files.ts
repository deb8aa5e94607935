import { readdirSync, readFileSync } from "node:fs";

export const ROOT = new URL("../../../", import.meta.url);

/** From the ground up. */
export const FLOORS = ["db", "runtime", "tools", "transports"] as const;

/** The TypeScript files below a folder of the checkout, by their path in it. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(ROOT.pathname.length).replace(/\/+/g, "/"))
    .sort();
}

/** A file of the checkout as text. */
export function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8");
}

/** The imports of a file, as they are written: static, dynamic and re-exported. */
export function importsOf(path: string): string[] {
  const pattern = /(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"]+)"/g;
  return [...textOf(path).matchAll(pattern)].map(([, specifier]) => specifier!);
}
