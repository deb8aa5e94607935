import { Fault } from "#runtime/faults.ts";

export interface Named {
  id: string;
  slug: string;
  name: string;
}

/** Of the properties the one with this id, short name or name. Throws `not_found`, naming those that there are. */
export function propertyNamed(all: readonly Named[], wanted: string): string {
  const found = all.filter(
    ({ id, slug, name }) => id === wanted.toLowerCase() || slug === wanted || name === wanted,
  );
  if (found.length === 1) return found[0]!.id;
  throw new Fault("not_found", { message: `No property ${wanted}. There are: ${slugsOf(all)}.` });
}

export function slugsOf(all: readonly Named[]): string {
  return all.map(({ slug }) => slug).join(", ") || "none";
}
