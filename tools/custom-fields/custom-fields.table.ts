import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange, createOnly, pastTime, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type RowOf, table, type Values } from "#runtime/operation/table.ts";
import { givesValue, refuseUsed, refuseUsedInJourney, useWords } from "#tools/uses/refuse-used.ts";
import { CUSTOM_TYPES, type CustomType, lockCustomFields } from "./values.ts";

const MOST_FIELDS = 200;
const FORBIDDEN = new Set(["constructor", "prototype"]);

const columns = {
  key: createOnly(
    z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,39}$/, "must be 1 to 40 of a-z, 0-9 and _, a letter first")
      .refine((key) => !FORBIDDEN.has(key), "is not allowed as a key")
      .describe("Its name in players.custom; it cannot change"),
  ),
  label: writable(
    z.string().trim().min(1).max(100).optional().describe("For people. Default: the key in words"),
  ),
  type: writable(
    z
      .enum(Object.keys(CUSTOM_TYPES) as [CustomType, ...CustomType[]])
      .describe("The type of its values; it can change as long as no player has a value"),
  ),
  enum_values: writable(
    z
      .array(z.string().trim().min(1).max(200))
      .max(200)
      .default([])
      .describe("The allowed values of an enum. A value that a player has cannot be removed"),
  ),
  is_pii: writable(z.boolean().default(false).describe("The values are personal data")),
  archived_at: writable(
    pastTime().nullish().describe("A time archives the field, null restores it. Values stay"),
  ),
};

export default table({
  name: "custom_fields",
  noun: "custom_field",
  key: ["key"],
  called: "key",
  description:
    "A custom field extends the built-in player fields, with a key and a type. custom accepts only keys that are defined here; conditions use custom.<key>. Archive a field that is no longer used: its values stay readable, and no new ones are accepted.",
  asks: ["update"],
  columns,
  beforeWrite,
});

type Definition = Pick<RowOf<typeof columns>, "key" | "type" | "enum_values">;

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { verb, input, current: before } = change;
  if (before) await lockCustomFields(context);
  if (verb === "delete") {
    await refuseRead(context, before, "Archive it instead (archived_at).");
    return {};
  }
  const next = afterChange(columns, change);
  checkValues(next);
  if (before && before.type !== next.type) {
    await refuseRead(context, before, `It cannot become ${next.type}: make another field.`);
  } else if (before?.type === "enum") {
    const gone = before.enum_values.filter((value) => !next.enum_values.includes(value));
    if (gone.length > 0) await refuseLost(context, before.key, gone);
  }
  if (before && next.archived_at && !before.archived_at) {
    const journey = givesValue(before.key, null);
    await refuseUsedInJourney(context, { noun: "custom field", key: before.key }, { journey });
    await askAboutUses(context, before.key);
  }
  if (verb === "create") {
    await checkRoom(context);
    return { ...input, label: input.label ?? inWords(next.key) };
  }
  return input;
}

function checkValues({ type, enum_values: values }: Definition): void {
  if (type !== "enum" && values.length > 0)
    throw invalid("enum_values", `are only for the type enum, not for ${type}`);
  if (type === "enum" && values.length === 0)
    throw invalid("enum_values", "are missing: an enum needs at least one");
  if (new Set(values).size !== values.length) throw invalid("enum_values", "contain a value twice");
}

/** Of an archived field no player gets another value, so its rules find the same players from then on. */
async function askAboutUses(context: Context, key: string): Promise<void> {
  const uses = await useWords(context, { noun: "custom field", key });
  if (uses.length === 0) return;
  context.ask?.({ sentences: () => [`The custom field ${key} takes no new values from now on.`, ...uses] });
}

/** Writers of values wait for this transaction, so none is added after this check. */
async function refuseRead(context: Context, { key }: Definition, hint: string): Promise<void> {
  const { sql, property } = context;
  const [owner] = await sql`
    select from players where property_id = ${property.id} and custom ? ${key} limit 1`;
  if (owner)
    throw new Fault("conflict", {
      message: `The custom field ${key} is in use: players have values of it. ${hint}`,
    });
  await refuseUsed(context, { noun: "custom field", key }, hint);
}

async function refuseLost(context: Context, key: string, gone: string[]): Promise<void> {
  const { sql, property } = context;
  const [row] = await sql<{ value: string }[]>`
    select custom ->> ${key} as value from players
    where property_id = ${property.id} and custom ->> ${key} = any(${gone}::text[]) limit 1`;
  if (row) {
    throw new Fault("conflict", {
      message: `enum_values: players have the value ${JSON.stringify(row.value)}; it cannot be removed.`,
    });
  }
  await refuseUsedInJourney(context, { noun: "custom field", key }, { journey: givesValue(key, gone) });
}

async function checkRoom({ sql, property }: Context): Promise<void> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from custom_fields where property_id = ${property.id}`;
  if (row!.count < MOST_FIELDS) return;
  throw new Fault("conflict", {
    message: `A property has at most ${MOST_FIELDS} custom fields. Delete an unused one first.`,
  });
}

function inWords(key: string): string {
  const words = key.replaceAll("_", " ").trim() || key;
  return words[0]!.toUpperCase() + words.slice(1);
}
