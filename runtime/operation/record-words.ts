import { z } from "zod";
import { oneLine, quoted } from "#runtime/visible-text.ts";
import { words } from "./rows.ts";
import type { Row, Table } from "./table.ts";

/** The record that an id names, where its field's name does not say it: duplicateId is a player's. */
export const RECORDS = z.registry<{
  noun: string;
  /** Only a deleted record can be meant. */
  deleted?: true;
}>();

const MOST_VALUE = 300;
const MOST_FIELDS = 12;

/** Fields of a record, for people: the first with their values, the others by name. */
export function fieldWords(fields: Record<string, unknown>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const shown = given.slice(0, MOST_FIELDS).map(([name, value]) => `${name} ${valueWords(value)}`);
  const others = given.slice(MOST_FIELDS).map(([name]) => name);
  return [...shown, ...(others.length > 0 ? [`and also ${others.join(", ")}`] : [])].join(", ");
}

/** A value as JSON on one line. A longer one is cut, and says so. */
function valueWords(value: unknown): string {
  if (typeof value === "string") return quoted(value, MOST_VALUE);
  const json = oneLine(JSON.stringify(value));
  return json.length > MOST_VALUE ? `${json.slice(0, MOST_VALUE).toWellFormed()}…` : json;
}

/** A record, for people: by its name, or else by what callers have written. */
export function recordWords(table: Pick<Table, "noun" | "columns">, row: Row): string {
  const record = row as Record<string, unknown>;
  if (typeof record.name === "string") return `the ${words(table.noun)} ${quoted(record.name, MOST_VALUE)}`;
  const written = Object.entries(table.columns).flatMap(([name, { write, read }]) =>
    write !== "never" && read === "answered" && record[name] !== null ? [[name, record[name]]] : [],
  );
  return `the ${words(table.noun)} (${fieldWords(Object.fromEntries(written))})`;
}

/** The fields that a change gives another value, with both. */
export function changeWords(before: Row, after: object): string {
  const current = before as Record<string, unknown>;
  const changed = Object.entries(after).filter(
    ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(current[name] ?? null),
  );
  return changed
    .map(([name, value]) => `${fieldWords({ [name]: current[name] ?? null })} becomes ${valueWords(value)}`)
    .join("; ");
}
