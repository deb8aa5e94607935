import { z } from "zod";
import { type FaultDetail, invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { type ParsedField, parseField } from "#tools/templates/rendering/liquid.ts";

// Refinements stay out of the JSON Schema: every agent reads this one before it begins.
const text = (most: number) =>
  z
    .string()
    .trim()
    .refine((value) => value.length > 0 && value.length <= most, `must have 1 to ${most} characters`);
const whole = (least: number, most: number) =>
  z
    .number()
    .refine(
      (value) => Number.isInteger(value) && value >= least && value <= most,
      `must be a whole number from ${least} to ${most}`,
    );
const days = () => whole(1, 365);
const time = () =>
  z.string().refine((value) => timestamp().safeParse(value).success, "must be a time with its offset");

const Offer = z.strictObject({
  type: text(60),
  value: text(200),
  code: text(200).optional(),
  expires_at: time().optional(),
  valid_days: days().optional(),
});

/** The parts of a campaign's message that only the branded inbox shows. */
export const InboxParts = z.strictObject({
  category: text(60).optional(),
  image_url: z
    .url({ protocol: /^https$/ })
    .max(2000)
    .optional(),
  cta_label: text(60).optional(),
  cta_url: text(2000).optional(),
  priority: whole(-1000, 1000).optional(),
  pinned: z.boolean().optional(),
  offer: Offer.optional(),
  expires_at: time().optional(),
  expires_after_days: days().optional(),
});
export type InboxParts = z.output<typeof InboxParts>;

/** The parts, compiled for all recipients. */
export interface CompiledParts {
  variables: readonly string[];
  /** Throws `invalid`, with the field, when it cannot be rendered. */
  render(variables: Record<string, unknown>): InboxParts;
}

/** The parts that hold Liquid. */
const LIQUID = {
  cta_label: (parts: InboxParts) => parts.cta_label,
  cta_url: (parts: InboxParts) => parts.cta_url,
  "offer.value": (parts: InboxParts) => parts.offer?.value,
  "offer.code": (parts: InboxParts) => parts.offer?.code,
};

/** The texts with Liquid in them, as a message has them. */
export function liquidParts(parts: InboxParts | null) {
  return Object.entries(LIQUID).map(([field, read]) => {
    return { field: `inbox.${field}`, source: parts && read(parts), engine: "text" as const };
  });
}

/** Compiles the parts. Throws `invalid` for Liquid that does not parse. */
export function compileParts(parts: InboxParts | null, baseUrl: string): CompiledParts {
  const parsed = new Map<string, ParsedField>();
  for (const [field, read] of Object.entries(LIQUID)) {
    const source = parts && read(parts);
    if (source) parsed.set(field, parseField(`inbox.${field}`, source, "text"));
  }
  const render: CompiledParts["render"] = (variables) => {
    const rendered = (field: string): string => lineOf(field, parsed.get(field)!.render(variables));
    const { offer, ...rest } = parts ?? {};
    const url = parsed.has("cta_url") ? rendered("cta_url") : undefined;
    if (url !== undefined && !isOpenable(url, baseUrl)) {
      throw invalid("inbox.cta_url", `must lead to an https page, not ${JSON.stringify(url.slice(0, 200))}`);
    }
    return {
      ...rest,
      ...(parsed.has("cta_label") && { cta_label: rendered("cta_label") }),
      ...(url !== undefined && { cta_url: url }),
      ...(offer && {
        offer: {
          ...offer,
          value: rendered("offer.value"),
          ...(parsed.has("offer.code") && { code: rendered("offer.code") }),
        },
      }),
    };
  };
  return { variables: [...new Set([...parsed.values()].flatMap((field) => field.variables))], render };
}

/** The problems of parts that do not fit together. */
export function problemsOf(parts: InboxParts | null): FaultDetail[] {
  if (!parts) return [];
  const both = (field: string, other: string) => ({ field, message: `give it or ${other}, not both` });
  return [
    ...((parts.cta_label === undefined) === (parts.cta_url === undefined)
      ? []
      : [{ field: "inbox.cta_url", message: "a button needs cta_label and cta_url" }]),
    ...(parts.expires_at && parts.expires_after_days ? [both("inbox.expires_at", "expires_after_days")] : []),
    ...(parts.offer?.expires_at && parts.offer.valid_days
      ? [both("inbox.offer.expires_at", "valid_days")]
      : []),
  ];
}

function isOpenable(url: string, baseUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  return new URL(url).protocol === "https:" || url.startsWith(`${baseUrl}/`);
}

function lineOf(field: string, value: string): string {
  const line = value.replace(/[\s\p{Cc}]+/gu, " ").trim();
  if (line === "") throw invalid(`inbox.${field}`, "is empty for this recipient");
  return line;
}
