import { hash } from "node:crypto";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Call } from "./context.ts";
import type { Row, Table } from "./table.ts";

/** Whether the table's records carry an ETag, so that a change can require an unchanged record. */
export function isVersioned(table: Table): boolean {
  return Object.hasOwn(table.columns, "version");
}

/**
 * A record's entity tag: its version, and a digest of all of it. A state may change without a new version, and a
 * strong tag (RFC 9110, 8.8.1) must then change too.
 */
export function etagOf(row: Row): string {
  return `"${row.version}-${hash("sha256", JSON.stringify(row), "base64url").slice(0, 22)}"`;
}

const TAG = /\s*(W\/)?("[\x21\x23-\x7e]*")\s*(?:,|$)/y;

/** The strong tags of an If-Match header, or `*`. Weak ones match nothing. Throws `invalid`. */
export function readIfMatch(header: string): readonly string[] | "*" {
  const tags = readTags("If-Match", header);
  return tags === "*" ? tags : tags.flatMap(({ tag, weak }) => (weak ? [] : [tag]));
}

/** The entity tags of a condition, or `*`. Throws `invalid`. */
export function readTags(name: string, header: string): readonly { tag: string; weak: boolean }[] | "*" {
  if (header.trim() === "*") return "*";
  const tags: { tag: string; weak: boolean }[] = [];
  TAG.lastIndex = 0;
  while (TAG.lastIndex < header.length) {
    const match = TAG.exec(header);
    if (!match) throw invalid(name, 'must be * or a list of entity tags in quotes, such as "3-…"');
    tags.push({ tag: match[2]!, weak: match[1] !== undefined });
  }
  return tags;
}

/** Throws when the caller's If-Match names another state than that of the locked record. */
export function checkUnchanged({ ifMatch }: Call, current: Row, version: unknown): void {
  const about = `The record is now at version ${current.version}. Read it again, then decide.`;
  // A caller who has the record may send its version alone.
  const known = [etagOf(current), `"${current.version}"`];
  if (ifMatch !== undefined && ifMatch !== "*" && !ifMatch.some((tag) => known.includes(tag))) {
    throw new Fault("precondition_failed", { message: `If-Match: ${about}` });
  }
  if (version !== undefined && version !== current.version) {
    throw new Fault("conflict", {
      message: `version: ${about}`,
      details: [{ field: "version", message: about }],
    });
  }
}
