import { z } from "zod";
import { isUuid } from "#db/text.ts";

type Wrapper = z.ZodOptional | z.ZodNullable | z.ZodDefault | z.ZodPrefault;

/** Whether the schema only adds a value to another one: nothing, null or a default. */
export const isWrapped = (schema: z.ZodType): schema is Wrapper =>
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodNullable ||
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodPrefault;

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

/**
 * The value with the ids that its schema names in lower case, as the database writes them: both cases name one record,
 * and seeds, keys and stored texts are made of ids. A text that may be an id or another name stays as it is.
 */
export function withPlainIds(schema: z.ZodType, value: unknown): unknown {
  if (isWrapped(schema)) return withPlainIds(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodUUID) return isUuid(value) ? value.toLowerCase() : value;
  if (schema instanceof z.ZodArray) {
    return Array.isArray(value) ? value.map((one) => withPlainIds(schema.element as z.ZodType, one)) : value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = schema.def;
    const told = (value as Record<string, unknown>)[discriminator];
    const options = schema.options as readonly z.ZodObject[];
    const option = options.find(({ shape }) => (shape[discriminator] as z.ZodType).safeParse(told).success);
    return option ? withPlainIds(option, value) : value;
  }
  if (!(schema instanceof z.ZodObject)) return value;
  const shape: Record<string, z.ZodType> = schema.shape;
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    Object.hasOwn(shape, name) ? withPlainIds(shape[name]!, inner) : inner,
  ]);
  return Object.fromEntries(entries);
}
