import { checkValue } from "#runtime/input.ts";
import { readBody } from "../body.ts";
import type { HttpContext } from "../guarded.ts";

const MOST_FORM = 16_384;

/** A form's fields; null when there are none to be read. */
export async function readForm(c: HttpContext): Promise<URLSearchParams | null> {
  try {
    const form = new URLSearchParams((await readBody(c.req.raw, MOST_FORM)).toString("utf8"));
    for (const value of form.values()) checkValue(value);
    return form;
  } catch {
    return null;
  }
}
