import { randomBytes, randomUUID } from "node:crypto";
import { DEFAULT_THEME } from "#tools/themes/theme.ts";
import {
  type Admin,
  type Column,
  type Constraint,
  columnsIn,
  constraintsIn,
  tenantTables,
} from "../support/schema.ts";

/** The key of the row that was put into each table, by the table's name. */
export type Planted = Map<string, Record<string, unknown>>;

/**
 * Puts one row into every tenant table of a property, made from the schema itself, so that a table that comes
 * tomorrow is under the same tests.
 */
export async function plantRows(admin: Admin, property: string): Promise<Planted> {
  const [columns, constraints] = await schemaOf(admin);
  const tables = new Set(tenantTables(columns));
  const keys = constraints.filter(({ kind, table }) => kind === "f" && tables.has(table));
  const planted: Planted = new Map();
  const plant = async (table: string): Promise<void> => {
    if (planted.has(table)) return;
    const own = columns.filter((one) => one.table === table);
    const references = keys.filter(
      (key) =>
        key.table === table &&
        tables.has(key.target ?? "") &&
        key.target !== table &&
        // The campaign of a journey takes no changes.
        !(table === "campaigns" && key.target === "journeys"),
    );
    for (const { target } of references) await plant(target!);
    const row: Record<string, unknown> = {};
    for (const column of own) {
      if (column.column === "property_id") row.property_id = property;
      else if (column.column === "id" || (column.required && column.default === null)) {
        row[column.column] = valueFor(column, constraints);
      }
    }
    for (const { columns: names, target, targetColumns } of references) {
      names.forEach((name, place) => {
        row[name] = planted.get(target!)?.[targetColumns[place]!];
      });
    }
    const primary = constraints.find((one) => one.table === table && one.kind === "p");
    const [key] =
      await admin`insert into ${admin(table)} ${admin(row as never)} returning ${admin(primary?.columns ?? [])}`;
    planted.set(table, { ...key });
  };
  for (const table of [...tables].sort()) await plant(table);
  return planted;
}

const schemas = new WeakMap<Admin, Promise<[Column[], Constraint[]]>>();

/** Read once for a connection: a test plants many properties. */
function schemaOf(admin: Admin): Promise<[Column[], Constraint[]]> {
  const known = schemas.get(admin) ?? Promise.all([columnsIn(admin), constraintsIn(admin)]);
  schemas.set(admin, known);
  return known;
}

/** Documents of a form of their own, by their columns. */
const DOCUMENTS: Readonly<Record<string, object>> = {
  definition: { nodes: [], edges: [] },
  draft_definition: { nodes: [], edges: [] },
  light: DEFAULT_THEME.light,
  dark: DEFAULT_THEME.dark,
  proposed_by: { type: "user", id: null },
  reentry: { mode: "never", cooldown_hours: 0 },
};

/** A word of texts whose words the code knows, and no check does. */
const NAMED: Readonly<Record<string, string>> = {
  channel: "email",
  event_type: "player.created",
  published_by_type: "user",
};

/** A value that the column takes, the first of its list where it has one. */
function valueFor({ table, column, type }: Column, constraints: Constraint[]): unknown {
  const check = constraints.find(
    (one) => one.table === table && one.kind === "c" && one.columns.includes(column),
  );
  const listed = /ARRAY\['([^']+)'/.exec(check?.definition ?? "")?.[1];
  if (listed) return type.endsWith("[]") ? [listed] : listed;
  if (type.endsWith("[]")) return column === "events" ? ["*"] : [];
  if (type === "uuid") return randomUUID();
  if (type === "bytea") return randomBytes(32);
  if (type === "jsonb" || type === "json") return DOCUMENTS[column] ?? {};
  if (type === "boolean") return true;
  if (type === "date") return "2026-01-01";
  if (type.startsWith("timestamp")) return "2026-01-01T00:00:00Z";
  // A vendor's name: the code knows them, and no check does.
  if (table === "message_providers" && column === "kind") return "mailbox";
  const named = NAMED[column];
  if (named !== undefined) return named;
  if (/_hash$/.test(column)) return randomBytes(32).toString("hex");
  if (/url$/.test(column)) return `https://${table.replaceAll("_", "-")}.example/${column}`;
  if (type === "text" || type.startsWith("character")) return `x${randomBytes(6).toString("hex")}`;
  return 1;
}
