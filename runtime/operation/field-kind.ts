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
