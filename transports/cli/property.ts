import { Fault } from "#runtime/faults.ts";

export interface NamedProperty {
  id: string;
  slug: string;
  name: string;
}

/** The id of the property with this id, slug or name. Throws `not_found` with the slugs of all. */
export function propertyNamed(all: readonly NamedProperty[], wanted: string): string {
  const found = all.filter(
    ({ id, slug, name }) => id === wanted.toLowerCase() || slug === wanted || name === wanted,
  );
  if (found.length === 1) return found[0]!.id;
  throw new Fault("not_found", { message: `No property ${wanted}. There are: ${slugsOf(all)}.` });
}

export function slugsOf(all: readonly NamedProperty[]): string {
  return all.map(({ slug }) => slug).join(", ") || "none";
}
