import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { FLOORS, importsOf, ROOT, sourcesIn, textOf } from "./sources.ts";

const IMPORTS = FLOORS.flatMap((floor, level) =>
  sourcesIn(floor).flatMap((path) => importsOf(path).map((specifier) => ({ path, specifier, floor, level }))),
);

test("an import goes down or stays on its floor", () => {
  const strays = IMPORTS.filter(({ specifier, level }) => {
    const target = FLOORS.findIndex((floor) => specifier.startsWith(`#${floor}/`));
    return target > level;
  });
  expect(strays).toEqual([]);
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
  expect(own.filter(({ specifier }) => !/\.(ts|json)$/.test(specifier))).toEqual([]);
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
