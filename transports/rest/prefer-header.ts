import { accepts } from "hono/accepts";
import { quote } from "#db/query/values.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { HttpContext } from "#transports/http/guarded.ts";

/** What the routes of a table can answer. */
export const TYPES = {
  json: "application/json",
  object: "application/vnd.pgrst.object+json",
  csv: "text/csv",
} as const;
/** The preferences that are obeyed, and those that say what is done anyway. */
const OBEYED =
  /^(return=(representation|minimal)|count=(exact|planned|estimated)|resolution=(merge|ignore)-duplicates|max-affected=\d{1,9}|handling=(strict|lenient)|missing=default|tx=commit)$/;

/** What a PostgREST client asks for in its headers. */
export interface Preferences {
  count: string | undefined;
  representation: boolean;
  minimal: boolean;
  /** One object instead of an array. */
  single: boolean;
  csv: boolean;
  /** Rows that are there already are changed, or left as they are, instead of refused. */
  duplicates: "merge" | "ignore" | undefined;
  /** A change of more rows than that is refused. */
  mostAffected: number;
}

/** Throws `invalid` where a write would be kept that was to be undone, or strictness is asked for and cannot be. */
export function preferences(c: HttpContext): Preferences {
  const prefer = c.req.header("prefer") ?? "";
  const words = prefer.split(",").map((word) => word.trim());
  if (words.includes("tx=rollback")) throw invalid("Prefer", "tx=rollback is not offered: writes are kept");
  const unknown = words.find((word) => word !== "" && !OBEYED.test(word));
  if (unknown !== undefined && words.includes("handling=strict")) {
    throw invalid("Prefer", `${quote(unknown)} is not offered, and handling=strict asks to be told`);
  }
  const most = /\bmax-affected=(\d{1,9})\b/.exec(prefer)?.[1];
  const type = acceptedType(c);
  return {
    count: /\bcount=(exact|planned|estimated)\b/.exec(prefer)?.[1],
    representation: /\breturn=representation\b/.test(prefer),
    minimal: /\breturn=minimal\b/.test(prefer),
    single: type === TYPES.object,
    csv: type === TYPES.csv,
    duplicates: /\bresolution=(merge|ignore)-duplicates\b/.exec(prefer)?.[1] as Preferences["duplicates"],
    mostAffected: most === undefined ? Number.POSITIVE_INFINITY : Number(most),
  };
}

/** Of the types that are offered the one that the caller likes most. */
function acceptedType(c: HttpContext): string {
  return accepts(c, { header: "Accept", supports: Object.values(TYPES), default: TYPES.json });
}

/** Throws `invalid` where a change would touch more rows than the caller has said. */
export function expectMost({ mostAffected }: Preferences, rows: number): void {
  if (rows <= mostAffected) return;
  throw invalid("Prefer", `max-affected is ${mostAffected}, and the change is of ${rows} rows`);
}

/** Throws `not_acceptable` where one object was asked for and there is another number. */
export function expectOne(rows: number): void {
  if (rows !== 1) throw new Fault("not_acceptable", { message: `The result has ${rows} rows, not one.` });
}
