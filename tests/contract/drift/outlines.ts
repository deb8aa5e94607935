import { outline } from "./outline.ts";

interface Part {
  name: string;
  files: Set<string>;
  schema: object;
}

/** Shorter ones are easier to read where they stand. */
const LEAST = 300;

/**
 * Documents as outlines, a file each. A field's schema that several of them have stands once, under `shared/`, by the
 * field's name: a new column of campaigns changes one file and not ten.
 */
export function outlines(documents: ReadonlyMap<string, object>): Map<string, string> {
  const parts = partsOf(documents);
  const texts = [...documents].map(([name, document]): [string, string] => [
    `${name}.txt`,
    outline(referring(document, parts)),
  ]);
  const shared = [...parts].map(([json, { name, schema }]): [string, string] => [
    `shared/${name}.txt`,
    outline(referring(schema, parts, json)),
  ]);
  return new Map([...texts, ...shared]);
}

/** The schemas of fields that several documents share, by their JSON. */
function partsOf(documents: ReadonlyMap<string, object>): Map<string, Part> {
  const found = new Map<string, Part>();
  const visit = (value: unknown, field: string | null, file: string): void => {
    if (typeof value !== "object" || value === null) return;
    const json = field && keyOf(value);
    if (json) {
      const part = found.get(json) ?? { name: field, files: new Set(), schema: value };
      part.files.add(file);
      found.set(json, part);
    }
    for (const [name, inner] of Object.entries(value)) {
      if (name !== "properties") visit(inner, field, file);
      else for (const [own, schema] of Object.entries(inner as object)) visit(schema, own, file);
    }
  };
  for (const [file, document] of documents) visit(document, null, file);
  return named(new Map([...found].filter(([, { files }]) => files.size > 1)));
}

/** Parts that differ and stand under one field are told apart by the first file that has them. */
function named(parts: Map<string, Part>): Map<string, Part> {
  const taken = new Set<string>();
  for (const part of parts.values()) {
    if (taken.has(part.name)) part.name += `-of-${[...part.files][0]!.split("/").at(-1)}`;
    taken.add(part.name);
  }
  return parts;
}

/** A record's schema without its description, which is the field's; null of anything else. */
function keyOf(value: object): string | null {
  if (!("properties" in value)) return null;
  const { description: _, ...schema } = value as { description?: string };
  const json = JSON.stringify(schema);
  return json.length < LEAST ? null : json;
}

/** The value with references in place of parts, except of `self`. */
function referring(value: unknown, parts: ReadonlyMap<string, Part>, self = ""): unknown {
  if (typeof value !== "object" || value === null) return value;
  const json = keyOf(value);
  const part = json === null || json === self ? undefined : parts.get(json);
  if (part) {
    const { description } = value as { description?: string };
    const reference = { $ref: `#/components/shared/${part.name.replaceAll(/[^\w-]/g, "_")}` };
    return description ? { description, schema: reference } : reference;
  }
  if (Array.isArray(value)) return value.map((one) => referring(one, parts, self));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, referring(one, parts, self)]));
}
