import { bare } from "#runtime/visible-text.ts";

/** A player's texts that messages show as they are; the custom fields are others. */
export const SHOWN_TEXTS = ["first_name", "last_name", "tier"] as const;

/** Phones make calls of these by themselves: with a plus, in groups, or behind a word. Digits alone are a card's. */
const PHONE =
  /\+\d(?:[ ().-]{0,2}\d){6,}|(?<!\d)\(?\d{3}\)?[ .-]{0,2}\d{3}[ .-]\d{4}(?!\d)|(?<=[\p{L}:,.!?] )\d{10,15}(?!\d)/u;

/** A scheme, "www.", or a name with a top-level domain: mail programs make links of these by themselves. */
const WEB_ADDRESS = /:\/\/|www\.|[\p{L}\p{N}][.\u3002](?:xn--|\p{L}{2})/iu;

/** The way to strangers that a value of a player shows where a message shows it, in words; null without one. */
export function contactIn(value: unknown): string | null {
  // Full-width letters and dots count as those that they stand for.
  const text = bare(JSON.stringify(value) ?? "").normalize("NFKC");
  if (WEB_ADDRESS.test(text)) return "a web address";
  return PHONE.test(text) ? "a phone number" : null;
}
