import { Fault } from "#runtime/faults.ts";
import type { Call } from "#runtime/operation/context.ts";

/** Throws `forbidden` for a caller who may not see personal data. `way`: the way on which the call would give it out. */
export function refuseMasked({ masked }: Call, way: string): void {
  if (!masked) return;
  throw new Fault("forbidden", {
    message: `This key sees no personal data, and ${way}. Use a key without pii_masked.`,
  });
}
