import { isDay } from "#db/text.ts";
import {
  type CustomField,
  type CustomFields,
  type CustomType,
  fitCustom,
  unknownField,
  wanted,
} from "#tools/custom-fields/values.ts";
import { moment, number, parsed, textsOf } from "./fields.ts";

const YES = new Set(["yes", "true", "1", "y", "on"]);
const NO = new Set(["no", "false", "0", "n", "off"]);

/** A cell's text as the field's value, or the reason why it is not one. */
export function readCustomCell(
  fields: CustomFields,
  key: string,
  text: string,
): { value: unknown } | { wrong: string } {
  const field = fields.get(key);
  if (!field) return { wrong: unknownField(fields) };
  const value = READ[field.type](text, field);
  return value === undefined ? { wrong: `must be ${wanted(field)}` } : fitCustom(fields, key, value);
}

const READ: Record<CustomType, (text: string, field: CustomField) => unknown> = {
  text: (text) => text,
  number: (text) => {
    const read = number.read(text);
    return read === null ? undefined : Number(read);
  },
  boolean: (text) => {
    const word = text.toLowerCase();
    return YES.has(word) ? true : NO.has(word) ? false : undefined;
  },
  date: (text) => (isDay(text) ? text : undefined),
  datetime: (text) => moment.read(text) ?? undefined,
  enum: (text, { enum_values: values }) =>
    values.find((one) => one === text) ?? values.find((one) => one.toLowerCase() === text.toLowerCase()),
  text_list: (text) => textsOf(text) ?? undefined,
};

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
