import { Fault, type FaultDetail } from "#runtime/faults.ts";

/** The bodies of a mail, or the text of a message, as they are written or as one recipient gets them. */
interface Bodies {
  html?: string | null | undefined;
  text?: string | null | undefined;
}

interface PlainLink {
  body: keyof Bodies;
  url: string;
}

const IN_HTML = /href\s*=\s*["']?\s*(http:[^\s"'<>]*)/i;
const IN_TEXT = /http:\/\/\S*/i;

/** A link of each body that is not https. Our own links are as safe as the address that the service was given. */
export function plainLinks({ html, text }: Bodies, ours: string): PlainLink[] {
  const inHtml = IN_HTML.exec(html?.replaceAll(ours, "") ?? "")?.[1];
  const inText = IN_TEXT.exec(text?.replaceAll(ours, "") ?? "")?.[0];
  return [
    ...(inHtml ? [{ body: "html" as const, url: inHtml }] : []),
    ...(inText ? [{ body: "text" as const, url: inText }] : []),
  ];
}

/** Throws `invalid`, naming the bodies, where one of several forms of a message has a link that is not https. */
export function checkLinks(forms: readonly Bodies[], ours: string): void {
  const links = forms.flatMap((bodies) => plainLinks(bodies, ours));
  const first = new Map(links.toReversed().map(({ body, url }) => [body, url]));
  const details = [...first].map(([body, url]): FaultDetail => {
    return { field: body, message: `a link is not https: ${url.slice(0, 200)}` };
  });
  const [one] = details;
  if (one) throw new Fault("invalid", { message: `${one.field}: ${one.message}`, details });
}
