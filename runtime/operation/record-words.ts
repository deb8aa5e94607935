import { z } from "zod";
import { words } from "./rows.ts";
import type { Row, Table } from "./table.ts";

/** The record that an id names, where its field's name does not say it: duplicateId is a player's. */
export const RECORDS = z.registry<{ noun: string }>();

const MOST_VALUE = 80;
const MOST_FIELDS = 12;

/** Some fields of a record, for people: each value as JSON, cut short. */
export function fieldWords(fields: Record<string, unknown>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given
    .slice(0, MOST_FIELDS)
    .map(([name, value]) => `${name} ${JSON.stringify(value).slice(0, MOST_VALUE).toWellFormed()}`)
    .join(", ");
}

/** A record, for people: by its name, or else by what callers have written. */
export function recordWords(table: Pick<Table, "noun" | "columns">, row: Row): string {
  const record = row as Record<string, unknown>;
  if (typeof record.name === "string") return `the ${words(table.noun)} ${JSON.stringify(record.name)}`;
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
    .map(
      ([name, value]) =>
        `${fieldWords({ [name]: current[name] ?? null })} becomes ${JSON.stringify(value).slice(0, MOST_VALUE).toWellFormed()}`,
    )
    .join("; ");
}
