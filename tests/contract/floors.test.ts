import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { FLOORS, importsOf, ROOT, sourcesIn, textOf } from "../support/checkout/source-files.ts";
import { circlingArrows, type Graph, grouped, importGraph } from "./import-graph.ts";
import { ROOMS, WIDE_ROOMS } from "./rooms.ts";

const IMPORTS = FLOORS.flatMap((floor, level) =>
  sourcesIn(floor).flatMap((path) => importsOf(path).map((specifier) => ({ path, specifier, floor, level }))),
);

test("an import goes down or stays on its floor", () => {
  const strays = IMPORTS.filter(({ specifier, level }) => {
    const target = FLOORS.findIndex((floor) => specifier.startsWith(`#${floor}/`));
    return target > level;
  });
  expect(
    strays,
    "Move what both need to the lower floor, or hand it in as an argument. From the top: transports, tools, runtime, db.",
  ).toEqual([]);
  expect(IMPORTS.length).toBeGreaterThan(200);
});

test("nothing below imports a way in", () => {
  const strays = IMPORTS.filter(
    ({ specifier, floor }) => floor !== "transports" && /transports/.test(specifier),
  );
  expect(strays).toEqual([]);
});

test("a relative import stays on its floor, and a package import leaves it", () => {
  const strays = IMPORTS.filter(({ path, specifier, floor }) => {
    if (specifier.startsWith("#")) return !/^#(db|runtime|tools|transports)\//.test(specifier);
    if (!specifier.startsWith(".")) return false;
    const target = new URL(specifier, new URL(path, ROOT)).pathname.slice(ROOT.pathname.length);
    return !target.startsWith(`${floor}/`) && target !== "package.json";
  });
  expect(strays).toEqual([]);
});

test("an import names its file with its extension", () => {
  const own = IMPORTS.filter(({ specifier }) => /^[.#]/.test(specifier));
  expect(own.filter(({ specifier }) => !/\.(ts|js|json)$/.test(specifier))).toEqual([]);
});

test("nothing of the service imports the tests or what only they need", () => {
  const { devDependencies } = JSON.parse(textOf("package.json")) as {
    devDependencies: Record<string, string>;
  };
  const forbidden = Object.keys(devDependencies).filter((name) => !name.startsWith("@types/"));
  const strays = IMPORTS.filter(
    ({ specifier }) =>
      /(^|\/)tests\//.test(specifier) ||
      forbidden.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
  );
  expect(strays).toEqual([]);
});

test("the top level holds the four floors, the tests and the few files that must be there", () => {
  const allowed = [
    "tools",
    "transports",
    "db",
    "runtime",
    "tests",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
  ];
  const documents = ["mcp.json", "README.md"];
  const found = readdirSync(ROOT).filter((name) => !name.startsWith(".") && name !== "node_modules");
  expect(found.filter((name) => ![...allowed, ...documents].includes(name))).toEqual([]);
  expect(allowed.filter((name) => !found.includes(name))).toEqual([]);
});

const FILES = importGraph(FLOORS);
const FOLDERS = [...new Set([...FILES.keys()].map(dirname))];

describe("imports run in no circle, types included", () => {
  test.each<[string, Graph]>([
    ["files", FILES],
    ["rooms", grouped(FILES, roomOf)],
    ["domains", grouped(importGraph(["tools"]), domainOf)],
  ])("between %s", (_kind, graph) => {
    expect(
      circlingArrows(graph),
      "Move what both need into a room below, or hand it in as an argument. These arrows run in a circle.",
    ).toEqual([]);
  });
});

test("a room is reached by the files that are named, and by few of them", () => {
  const found = Object.fromEntries(
    FOLDERS.filter((folder) => folder.includes("/"))
      .map((folder): [string, string[]] => [folder, doorsOf(folder)])
      .filter(([, doors]) => doors.length > 0),
  );
  expect(
    found,
    "Import one of the files that the room has named, move the file out of the room, or name it in ROOMS (tests/contract/rooms.ts).",
  ).toEqual({ ...ROOMS, ...WIDE_ROOMS });
  const wide = Object.entries(ROOMS).filter(([, doors]) => doors.length > 3);
  expect(wide, "More than three: make the room smaller, or put it into WIDE_ROOMS.").toEqual([]);
  const narrow = Object.entries(WIDE_ROOMS).filter(([, doors]) => doors.length <= 3);
  expect(narrow, "Three or fewer: put it into ROOMS.").toEqual([]);
});

describe("a folder", () => {
  const contents = (isProgram: (path: string) => boolean) =>
    Map.groupBy(
      [...FLOORS, "tests"].flatMap(sourcesIn).filter((path) => !isProgram(path)),
      dirname,
    );

  test("has at most twenty files, the campaigns' operations and tests of one domain apart", () => {
    const isApart = (path: string) => isListed(path) && !/^tools\/(?!campaigns\/)/.test(path);
    const full = [...contents(isApart)].filter(([, files]) => files.length > 20);
    expect(
      full.map(([folder, files]) => `${folder}: ${files.length}`),
      "Give the files that belong together a folder of their own.",
    ).toEqual([]);
  });

  test("has no family of files with one prefix, operations apart", () => {
    const families = [...contents(isListed)].flatMap(([folder, files]) =>
      [...Map.groupBy(files, (path) => /^(\w+)-/.exec(basename(path))?.[1])]
        .filter(([prefix, family]) => prefix && family.length > 3)
        .map(([prefix]) => `${folder}/${prefix}-*`),
    );
    expect(families, "Move the family into a folder of that name.").toEqual([]);
  });
});

/** A folder is a room. Beside folders of its own, each of its files stands for itself. */
function roomOf(path: string): string {
  const folder = dirname(path);
  return FOLDERS.some((other) => other.startsWith(`${folder}/`)) ? path : folder;
}

function domainOf(path: string): string {
  return /^tools\/[^/]+(?=\/)/.exec(path)?.[0] ?? path;
}

/** The files of a folder that others import from outside of it. The table of contents imports every operation. */
function doorsOf(folder: string): string[] {
  const outside = [...FILES].filter(
    ([from]) => !from.startsWith(`${folder}/`) && !/^tools\/(catalog|.+\/domain)\.ts$/.test(from),
  );
  const targets = outside.flatMap(([, imported]) => [...imported]).filter((path) => dirname(path) === folder);
  return [...new Set(targets.map((path) => basename(path)))].sort();
}

/** Files that a catalog or a runner finds by their names: operations, tables, jobs, tests of a domain. */
function isListed(path: string): boolean {
  if (/^tests\/tools\/|\.(table|job)\.ts$/.test(path)) return true;
  return path.startsWith("tools/") && /^export default tool\(/m.test(textOf(path));
}
