import {
  type CustomField,
  type CustomFields,
  type CustomType,
  fitCustom,
  unknownField,
  wanted,
} from "#tools/custom-fields/values.ts";
import { moment, type Notation, number, parsed, readDay, textsOf, type Unsure } from "./fields.ts";
import { readWord } from "./words.ts";

/** A cell's text as the field's value, or the reason why it is not one. */
export function readCustomCell(
  fields: CustomFields,
  key: string,
  text: string,
  file: Notation,
): { value: unknown } | { wrong: string } {
  const field = fields.get(key);
  if (!field) return { wrong: unknownField(fields) };
  const value = READ[field.type](text, file, field);
  if (isUnsure(value)) return { wrong: value.unsure };
  return value === undefined ? { wrong: `must be ${wanted(field)}` } : fitCustom(fields, key, value);
}

const READ: Record<CustomType, (text: string, file: Notation, field: CustomField) => unknown> = {
  text: (text) => text,
  number: (text, file) => {
    const read = number.read(text, file);
    return typeof read === "string" ? Number(read) : (read ?? undefined);
  },
  boolean: (text) => readWord(text) ?? undefined,
  date: (text, file) => readDay(text, file) ?? undefined,
  datetime: (text, file) => moment.read(text, file) ?? undefined,
  enum: (text, _, { enum_values: values }) =>
    values.find((one) => one === text) ?? values.find((one) => one.toLowerCase() === text.toLowerCase()),
  text_list: (text) => textsOf(text) ?? undefined,
};

function isUnsure(value: unknown): value is Unsure {
  return typeof value === "object" && value !== null && "unsure" in value;
}

/** The object in a column that holds all custom values in one cell, without its null values. */
export function readCustoms(
  fields: CustomFields,
  text: string,
): { values: Record<string, unknown> } | { wrong: string; unknown: boolean } {
  const object = parsed(text);
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    return { wrong: "must be a JSON object", unknown: false };
  }
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(object)) {
    const fitted = fitCustom(fields, key, value);
    if ("wrong" in fitted) return { wrong: `.${key} ${fitted.wrong}`, unknown: !fields.has(key) };
    if (fitted.value !== null) values[key] = fitted.value;
  }
  return { values };
}
