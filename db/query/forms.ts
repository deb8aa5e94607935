import { isIP } from "node:net";
import type { Form } from "./readable-table.ts";

/** The form of a value that is one of these, in any case. */
export function formOfValues(values: readonly string[]): Form {
  return {
    fit: (text) => values.find((value) => value === text.trim().toLowerCase()) ?? null,
    wants: `one of ${values.join(", ")}`,
  };
}

/** How filters compare a SHA-256: as it is answered. PostgreSQL prints a hash with `\x` in front. */
export const HASH_FORM: Form = {
  fit: (text) => /^(?:\\?x)?([0-9a-f]{64})$/i.exec(text.trim())?.[1]?.toLowerCase() ?? null,
  wants: "a SHA-256 of 64 hexadecimal digits",
};

/** How filters compare an IP address. */
export const IP_FORM: Form = {
  fit: (text) => (isIP(text.trim()) ? text.trim().toLowerCase() : null),
  wants: "an IP address, such as 203.0.113.9",
};
