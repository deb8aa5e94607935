import { z } from "zod";

const value = z.string().trim().min(1).max(200).optional();

/** Parameters that a campaign adds to its links, for the site's analytics: `source` becomes `utm_source`. */
export const Utm = z.strictObject({
  source: value,
  medium: value,
  campaign: value,
  term: value,
  content: value,
  id: value,
});
export type Utm = z.output<typeof Utm>;

/** Whether a link leads to a web page. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url);
}

/** The address with the campaign's parameters. Parameters that it already has stay. */
export function withUtm(url: string, utm: Utm | null): string {
  const [, address = "", query, fragment = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  const given = new URLSearchParams(query);
  const added = Object.entries(utm ?? {}).flatMap(([name, text]) =>
    text === undefined || given.has(`utm_${name}`) ? [] : `utm_${name}=${encodeURIComponent(text)}`,
  );
  if (added.length === 0) return url;
  const start = query === undefined ? "?" : query === "?" || query.endsWith("&") ? query : `${query}&`;
  return `${address}${start}${added.join("&")}${fragment}`;
}
