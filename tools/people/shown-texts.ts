import { visible } from "#runtime/visible-text.ts";

/** A player's texts that messages show as they are; the custom fields are others. */
export const SHOWN_TEXTS = ["first_name", "last_name", "tier"] as const;

/** A scheme, "www.", or a name with a top-level domain: mail programs make links of these by themselves. */
const WEB_ADDRESS = /:\/\/|www\.|[\p{L}\p{N}][.\u3002](?:xn--|\p{L}{2})/iu;

/** Whether a value of a player shows a web address where a message shows it. */
export function showsWebAddress(value: unknown): boolean {
  // Full-width letters and dots count as those that they stand for.
  return WEB_ADDRESS.test(visible(JSON.stringify(value) ?? "").normalize("NFKC"));
}
