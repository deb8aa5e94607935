import { invalid } from "#runtime/faults.ts";
import { CHANNELS, type Channel } from "#tools/compliance/channels.ts";
import { type CustomFields, unknownField } from "#tools/custom-fields/values.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import { FIELDS } from "./fields.ts";

/** The target of a file's cell. */
export type Target =
  | { kind: "email" }
  | { kind: "phone" }
  | { kind: "field"; name: string }
  | { kind: "custom"; key: string }
  | { kind: "customs" }
  | { kind: "consent"; channel: Channel }
  | { kind: "occurred_at" };

/** The meaning of the columns of one file. */
export interface Layout {
  header: string[];
  targets: (Target | null)[];
  /** Columns of the file that the mapping does not cover. */
  ignored: string[];
  /** Columns that the mapping names and the file does not have. */
  missing: string[];
  /** Columns that name a custom field which the property does not have. */
  unknown: string[];
}

const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);
const KNOWN = new Map(
  ["email", "phone", "custom", ...Object.keys(FIELDS)].map((name) => [folded(name), name]),
);

/** The target that a mapping names; null for an unknown target. */
function readTarget(name: string, fields: CustomFields): Target | null {
  if (name === "email" || name === "phone") return { kind: name };
  if (name === "custom") return { kind: "customs" };
  if (Object.hasOwn(FIELDS, name)) return { kind: "field", name };
  const [group, key = "", ...rest] = name.split(".");
  if (rest.length > 0) return null;
  if (group === "custom" && fields.get(key)?.archived === false) return { kind: "custom", key };
  if (group === "consent" && CHANNELS.some((one) => one === key))
    return { kind: "consent", channel: key as Channel };
  return null;
}

/** Refuses parameters that no file could satisfy. Throws `invalid`. */
export function checkParams(params: ImportParams, customs: CustomFields): void {
  const used = new Set<string>();
  for (const [column, name] of Object.entries(params.mapping)) {
    if (name === null) continue;
    const target = readTarget(name, customs);
    if (!target && name.startsWith("custom.")) {
      throw invalid(`mapping.${column}`, `${name.slice(7)} ${unknownField(customs)}`);
    }
    if (!target) {
      const fields = ["email", "phone", ...Object.keys(FIELDS)].join(", ");
      throw invalid(
        `mapping.${column}`,
        `${name} is not a player field. Use ${fields}, custom.<key>, consent.<channel> or null`,
      );
    }
    if (used.has(name)) throw invalid(`mapping.${column}`, `two columns give ${name}`);
    used.add(name);
  }
  if (!params.has_header && used.size === 0) {
    throw invalid("mapping", 'is needed without a header: {"1": "player_id", "2": "email"}');
  }
  if (new Set(params.match_on).size !== params.match_on.length)
    throw invalid("match_on", "names a field twice");
}

/** The file's columns under the mapping. Throws `invalid` when no row of it could be a player. */
export function layoutOf(header: readonly string[], params: ImportParams, customs: CustomFields): Layout {
  const names = header.map((name) => name.trim().replaceAll("\0", "�").slice(0, 500));
  refuseForbidden(names);
  const mapping = new Map(Object.entries(params.mapping).map(([column, name]) => [column.trim(), name]));
  const occurred = params.consent?.occurred_at_column?.trim();
  const known = knownColumns(customs);
  const targets = names.map((name): Target | null => {
    const mapped = mapping.get(name);
    if (mapped !== undefined) return mapped === null ? null : readTarget(mapped, customs);
    return name === occurred ? { kind: "occurred_at" } : known(name);
  });
  const dropped = new Set([...mapping].filter(([, name]) => name === null).map(([column]) => column));
  const wanted = [...mapping.keys(), ...(occurred === undefined ? [] : [occurred])];
  refuseTwins(names, targets);
  refuseNobody(names, targets);
  return {
    header: names,
    targets,
    ignored: names.filter((name, index) => targets[index] === null && !dropped.has(name)),
    unknown: names.filter(
      (name, index) => targets[index] === null && (mapping.get(name) ?? name).startsWith("custom."),
    ),
    missing: wanted.filter((name) => !names.includes(name)),
  };
}

/**
 * The meaning of a column whose name needs no mapping. Known names count in any case, with spaces, hyphens or
 * underscores, and so do the keys and labels of custom fields.
 */
function knownColumns(customs: CustomFields): (name: string) => Target | null {
  const own = new Map<string, string>();
  for (const { key, label, archived } of customs.values()) {
    if (archived) continue;
    own.set(folded(key), key);
    if (!own.has(folded(label))) own.set(folded(label), key);
  }
  return (name) => {
    const field = KNOWN.get(folded(name));
    if (field) return readTarget(field, customs);
    const key = own.get(folded(name));
    if (key) return { kind: "custom", key };
    return readTarget(name, customs);
  };
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, "");
}

function refuseForbidden(names: readonly string[]): void {
  const name = names.find((one) => one.split(".").some((part) => FORBIDDEN.has(part)));
  if (name === undefined) return;
  throw invalid("mapping", `the column ${name.slice(0, 60)} has a name that is not allowed; rename it`);
}

function refuseTwins(names: readonly string[], targets: readonly (Target | null)[]): void {
  const taken = new Map<string, string>();
  for (const [index, target] of targets.entries()) {
    if (!target) continue;
    const key = JSON.stringify(target);
    const [name, other] = [names[index] ?? "", taken.get(key)];
    if (other !== undefined)
      throw invalid("mapping", `the columns ${other} and ${name} both mean the same player field`);
    taken.set(key, name);
  }
}

function refuseNobody(names: readonly string[], targets: readonly (Target | null)[]): void {
  const named = targets.some(
    (one) =>
      one?.kind === "email" || one?.kind === "phone" || (one?.kind === "field" && one.name === "player_id"),
  );
  if (named) return;
  const list = names
    .slice(0, 30)
    .map((name) => name.slice(0, 60))
    .join(", ");
  throw invalid("mapping", `no column of the file is a player_id, email or phone. Its columns are: ${list}`);
}
