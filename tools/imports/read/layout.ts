import { type Fault, invalid } from "#runtime/faults.ts";
import { bareOrQuoted } from "#runtime/visible-text.ts";
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
  /** Columns that the parameters name and the file does not have, each with its intended use. */
  missing: ReadonlyMap<string, string | null>;
  /** Columns that name a custom field which the property does not have. */
  unknown: string[];
}

/** The use of the column of the consents' dates. */
const OCCURRED_AT = "occurred_at_column";
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
  checkDateColumn(params);
  if (!params.has_header && used.size === 0) {
    throw invalid("mapping", 'is needed without a header: {"1": "player_id", "2": "email"}');
  }
  if (new Set(params.match_on).size !== params.match_on.length)
    throw invalid("match_on", "names a field twice");
}

/** The date of consent would be lost in silence where its column is also a field. */
function checkDateColumn({ mapping, consent }: ImportParams): void {
  const date = consent?.occurred_at_column;
  if (date === undefined) return;
  const field = Object.entries(mapping).find(([column]) => column.trim() === date.trim())?.[1];
  if (field) throw twoUses(field);
}

function twoUses(field: string): Fault {
  return invalid(`consent.${OCCURRED_AT}`, `the mapping gives this column to ${field} already`);
}

/** The file's columns under the mapping. Throws `invalid` when no row of it could be a player. */
export function layoutOf(header: readonly string[], params: ImportParams, customs: CustomFields): Layout {
  const names = header.map((name) => name.trim().replaceAll("\0", "�").slice(0, 500));
  refuseForbidden(names);
  const find = columnFinder(names);
  const mapping = new Map<string, string | null>();
  const missing = new Map<string, string | null>();
  for (const [column, name] of Object.entries(params.mapping)) {
    const found = find(column);
    for (const one of found) mapping.set(one, name);
    if (found.length === 0) missing.set(column.trim(), name);
  }
  const date = params.consent?.occurred_at_column;
  const dated = new Set(date === undefined ? [] : find(date));
  if (date !== undefined && dated.size === 0) missing.set(date.trim(), OCCURRED_AT);
  const known = knownColumns(customs);
  const targets = names.map((name): Target | null => {
    const mapped = mapping.get(name);
    // A mapping of this column to null says that it is no field of a player.
    if (dated.has(name) && !mapped) return { kind: "occurred_at" };
    if (dated.has(name)) throw twoUses(mapped!);
    if (mapped === undefined) return known(name);
    return mapped === null ? null : readTarget(mapped, customs);
  });
  refuseTwins(names, targets);
  refuseNobody(names, targets);
  return {
    header: names,
    targets,
    ignored: names.filter((name, index) => targets[index] === null && mapping.get(name) !== null),
    unknown: names.filter(
      (name, index) => targets[index] === null && (mapping.get(name) ?? name).startsWith("custom."),
    ),
    missing,
  };
}

/** The columns by a given name: the exact one, or else those of the same letters in any case. */
function columnFinder(names: readonly string[]): (column: string) => string[] {
  return (column) => {
    const name = column.trim();
    return names.includes(name) ? [name] : names.filter((one) => folded(one) === folded(name));
  };
}

/** The losses by the names of the file's columns, in words. */
export function columnWarnings({ header, missing, ignored }: Layout): string[] {
  const shown = (names: readonly string[]) =>
    `${names.slice(0, 30).map(bareOrQuoted).join(", ")}${names.length > 30 ? ", …" : ""}`;
  const needed = [...missing].filter(([, use]) => use !== null);
  return [
    ...needed.map(([column, use]) =>
      use === OCCURRED_AT
        ? `The file has no column ${bareOrQuoted(column)}, which occurred_at_column names. No consent of the file was recorded, because its date is unknown; a refusal was recorded with the time of the import. The columns are: ${shown(header)}.`
        : `The file has no column ${bareOrQuoted(column)}, which the mapping gives to ${use}: nothing was read for it. The columns are: ${shown(header)}.`,
    ),
    ...(ignored.length > 0
      ? [
          `These columns were left out, because their fields are unknown: ${shown(ignored)}. The mapping can name their fields.`,
        ]
      : []),
  ];
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

/** The field that a column's name alone gives it; null for none. */
export function namedTarget(customs: CustomFields): (name: string) => string | null {
  const known = knownColumns(customs);
  return (name) => {
    const target = known(name.trim());
    if (!target) return null;
    switch (target.kind) {
      case "field":
        return target.name;
      case "custom":
        return `custom.${target.key}`;
      case "consent":
        return `consent.${target.channel}`;
      case "customs":
        return "custom";
      default:
        return target.kind === "occurred_at" ? null : target.kind;
    }
  };
}

/** All fields that a mapping can name, with the property's own. */
export function fieldNames(customs: CustomFields): string[] {
  return [
    ...Object.keys(FIELDS).slice(0, 1),
    "email",
    "phone",
    ...Object.keys(FIELDS).slice(1),
    ...CHANNELS.map((channel) => `consent.${channel}`),
    ...[...customs].filter(([, { archived }]) => !archived).map(([key]) => `custom.${key}`),
  ];
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
