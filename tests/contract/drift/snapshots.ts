import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, inject } from "vitest";

/**
 * Compares texts with the committed files of a folder, by their names in it. Names the files that are missing and
 * those that nothing makes any more. `vitest -u` writes the folder anew.
 */
export function expectSnapshots(folder: URL, texts: ReadonlyMap<string, string>, update: string): void {
  const files = namesIn(folder);
  if (inject("updatesSnapshots")) {
    for (const name of files) if (!texts.has(name)) rmSync(new URL(name, folder));
    for (const [name, text] of texts) write(new URL(name, folder), text);
    return;
  }
  const names = [...texts.keys()].sort();
  expect(
    {
      missing: names.filter((name) => !files.includes(name)),
      extra: files.filter((name) => !texts.has(name)),
    },
    update,
  ).toEqual({ missing: [], extra: [] });
  const changed = names.filter((name) => readFileSync(new URL(name, folder), "utf8") !== texts.get(name));
  for (const name of changed) {
    const about = `${name} has changed, one of ${changed.length}. ${update}`;
    expect(texts.get(name), about).toBe(readFileSync(new URL(name, folder), "utf8"));
  }
}

function namesIn(folder: URL): string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll("//", "/").slice(folder.pathname.length))
    .sort();
}

function write(file: URL, text: string): void {
  mkdirSync(dirname(file.pathname), { recursive: true });
  writeFileSync(file, text);
}
