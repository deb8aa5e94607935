import { checkValue } from "#runtime/operation/input.ts";
import { readBody } from "#transports/http/body.ts";
import type { HttpContext } from "#transports/http/handlers.ts";

const MAX_FORM_BYTES = 16_384;

/** Reads a form's fields; null if the body is too large or not valid. */
export async function readForm(
  c: HttpContext,
  most: number = MAX_FORM_BYTES,
): Promise<URLSearchParams | null> {
  try {
    const form = new URLSearchParams((await readBody(c.req.raw, most)).toString("utf8"));
    for (const value of form.values()) checkValue(value);
    return form;
  } catch {
    return null;
  }
}
