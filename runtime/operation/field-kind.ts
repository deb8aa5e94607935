import { z } from "zod";
import { isWrapped } from "./columns.ts";

/** The text form of a field's value, on the command line or in an address. `choice` is on or off, or a word. */
export type FieldKind = "text" | "number" | "boolean" | "choice" | "list" | "json";

/** The kind of a field, by its schema. */
export function kindOf(schema: z.ZodType): FieldKind {
  if (isWrapped(schema)) return kindOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return kindOf(schema.in as z.ZodType);
  if (schema instanceof z.ZodBoolean || (schema instanceof z.ZodLiteral && schema.values.has(true))) {
    return "boolean";
  }
  if (schema instanceof z.ZodUnion && schema.options.some((option) => option instanceof z.ZodBoolean))
    return "choice";
  if (schema instanceof z.ZodUnion && schema.options.some((option) => option instanceof z.ZodNumber))
    return "number";
  if (schema instanceof z.ZodUnion && schema.options.every((option) => option instanceof z.ZodObject))
    return "json";
  if (schema instanceof z.ZodNumber) return "number";
  if (schema instanceof z.ZodArray) return kindOf(schema.element as z.ZodType) === "json" ? "json" : "list";
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord || schema instanceof z.ZodUnknown)
    return "json";
  return "text";
}

/** The schema without its wrappers. */
export function bare(schema: z.ZodType): z.ZodType {
  return isWrapped(schema) ? bare(schema.unwrap() as z.ZodType) : schema;
}

/** The schemas of an object's field: of a union, one an option. */
export function fieldOf(schema: z.ZodType, field: string): z.ZodType[] {
  const inner = bare(schema);
  if (inner instanceof z.ZodUnion)
    return inner.options.flatMap((option) => fieldOf(option as z.ZodType, field));
  const isField = inner instanceof z.ZodObject && Object.hasOwn(inner.shape, field);
  return isField ? [inner.shape[field]] : [];
}

/** The schemas of a list's elements. */
export function elementOf(schema: z.ZodType): z.ZodType[] {
  const inner = bare(schema);
  if (inner instanceof z.ZodUnion) return inner.options.flatMap((option) => elementOf(option as z.ZodType));
  return inner instanceof z.ZodArray ? [inner.element as z.ZodType] : [];
}

/** Whether callers name the fields of such a value themselves, as those of an event's properties. */
export function isFree(schema: z.ZodType): boolean {
  const inner = bare(schema);
  return inner instanceof z.ZodPipe ? isFree(inner.in as z.ZodType) : inner instanceof z.ZodRecord;
}
