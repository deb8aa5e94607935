import { z } from "zod";

const briefs = z.registry<{ json: Record<string, unknown> }>();

/** Gives a large schema a short JSON Schema for lists of tools. The whole one still checks, and documents describe it. */
export function briefly<S extends z.ZodType>(schema: S, json: Record<string, unknown>): S {
  briefs.add(schema, { json });
  return schema;
}

/** The short JSON Schema of a schema, if it has one. */
export function briefOf(schema: z.core.$ZodType): Record<string, unknown> | undefined {
  return briefs.get(schema as z.ZodType)?.json;
}
