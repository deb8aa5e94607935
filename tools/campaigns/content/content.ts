import type { Messages, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { Fault, type FaultDetail, invalid, toFault } from "#runtime/faults.ts";
import { inTurns } from "#runtime/limits/turns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import type { Candidate } from "#tools/providers/choose.ts";
import type { PropertyVariables } from "#tools/templates/rendering/email-template.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import { addressesIn, addressesOf, shownIn, VALUE, valuesOf } from "./addresses.ts";

/** The recipient of one message: the id of the send, and the fields of a player that templates know. */
export interface Recipient extends Record<string, unknown> {
  send_id: string;
  /** The message goes to this address. */
  address: string;
  /** Only in a campaign that tries variants. */
  variant_id?: string;
}

/** A campaign's content for one channel, compiled once for all recipients. */
export interface Content<C extends SendingChannel = SendingChannel> {
  channel: C;
  /** The ids of the campaign's variants, if it has some: the possible values of a recipient's `variant_id`. */
  variants?: readonly string[];
  /** The paths of all variables in its texts. */
  variables: readonly string[];
  /** The message to one recipient. Throws `invalid`, with the field, when it cannot be rendered. */
  messageTo(recipient: Recipient, unsubscribeUrl: string): Messages[C];
  /** The content as delivery sends it, with tracked links. Absent where a preview shows the same. */
  outgoing?(context: CompileContext): Promise<Content<C>>;
  /** The message as this provider sends it: by the provider's sender, if the campaign names none. */
  sentBy(provider: SenderSource, message: Messages[C]): Messages[C];
}

/** The parts of a provider that choose a message's sender. */
export type SenderSource = Pick<Candidate, "name" | "fromAddress">;

/** Compiling reads the database, and asks no provider. */
export type CompileContext = Tenant & Pick<Context, "config">;

/** Compiles a campaign's content for one channel. Answers a sentence for each field that prevents it. */
export type Compile<C extends SendingChannel> = (
  context: CompileContext,
  campaign: Campaign,
) => Promise<Content<C> | FaultDetail[]>;

interface TemplateRow {
  subject: string | null;
  html: string | null;
  mjml: string | null;
  text: string | null;
  voice_script: VoiceScript | null;
}

/** The template of a campaign's content, if it has one. `deleted` names a template that has been deleted. */
export async function templateOf(
  { sql, property }: Tenant,
  { template_id }: Campaign,
): Promise<{ template: TemplateRow | null; deleted: FaultDetail[] }> {
  if (template_id === null) return { template: null, deleted: [] };
  const [template] = await sql<TemplateRow[]>`
    select subject, html, mjml, text, voice_script from templates
    where property_id = ${property.id} and id = ${template_id} and deleted_at is null`;
  if (template) return { template, deleted: [] };
  return {
    template: null,
    deleted: [{ field: "template_id", message: `template ${template_id} has been deleted` }],
  };
}

/**
 * Runs `compile`, whose renders wait their turn. An `invalid` fault becomes problems, under the campaign's names of the
 * fields.
 */
export async function compiledOr<T>(
  { property }: Pick<Context, "property">,
  compile: () => T,
  ownNames: Record<string, string>,
): Promise<T | FaultDetail[]> {
  try {
    return await inTurns(property.id, compile);
  } catch (error) {
    const fault = toFault(error);
    if (fault.code !== "invalid") throw error;
    return (fault.details ?? []).map(({ field, message }) => ({ field: ownNames[field] ?? field, message }));
  }
}

/** The same beside problems that were found before it: they are named together, and prevent the content. */
export async function compiledBeside<T>(
  found: FaultDetail[],
  compiling: Promise<T | FaultDetail[]>,
): Promise<T | FaultDetail[]> {
  const compiled = await compiling;
  if (found.length === 0) return compiled;
  return Array.isArray(compiled) ? [...found, ...compiled] : found;
}

/** Stands for a missing subject, so that the rest of the message is compiled, and its problems named, too. */
export const NO_SUBJECT = "-";

/** The property in messages. They always name a company, even if the property has not set its legal name. */
export function propertyVariables(property: Property): PropertyVariables {
  const { name, legal_name, postal_address, responsible_gaming_footer, privacy_policy_url } = property;
  return {
    name,
    legal_name: legal_name ?? name,
    postal_address,
    responsible_gaming_footer,
    privacy_policy_url,
  };
}

/** The bodies of a message, as written or as rendered. */
interface Bodies {
  html?: string | null | undefined;
  text?: string | null | undefined;
}

/** Something in a body that opens or loads what no message may. */
interface Flaw {
  body: keyof Bodies;
  message: string;
}

const META = new RegExp(String.raw`\bhttp-equiv${VALUE}`, "gi");
const USER = /^(?:https?:)?\/\/[^/?#\\]*@/i;
const USER_IN_TEXT = /https?:\/\/[^\s/?#\\]*@\S*/i;
const IN_TEXT = /http:\/\/\S*/i;

/** Elements that load a page of their own, move all links, run code, or make text of all that follows. */
const ELEMENTS =
  /<\s*\/?(iframe|frame|frameset|fencedframe|portal|object|embed|applet|base|script|animate|set|noembed|noframes|plaintext)(?![\w-])/i;
const HANDLER = /<[a-z](?:"[^"]*"|'[^']*'|[^'"<>])*?[\s"'/](on[a-z]+)\s*=/i;

const FINE = {
  open: /^(?:https|mailto|tel|sms):/i,
  load: /^(?:https:|cid:|data:image\/)/i,
};
const ANOTHER_PLACE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/**
 * The first flaw of each body: an address that is not https, or a part that opens or loads one by itself. Addresses
 * below `baseUrl`, our own, may be plain.
 */
export function flawsIn({ html, text }: Bodies, baseUrl: string): Flaw[] {
  const ours = oursIn(baseUrl);
  const inHtml = html ? (userIn(html) ?? flawOf(html.replaceAll(ours, ""))) : undefined;
  const inText = text ? textFlaw(text, ours) : undefined;
  return [
    ...(inHtml ? [{ body: "html" as const, message: inHtml }] : []),
    ...(inText ? [{ body: "text" as const, message: inText }] : []),
  ];
}

/** Finds our own address, and no longer host that begins with it. */
function oursIn(baseUrl: string): RegExp {
  const written = baseUrl.replace(/[\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return new RegExp(String.raw`${written}(?![\w:@-]|\.\w)`, "g");
}

function textFlaw(text: string, ours: RegExp): string | undefined {
  const user = USER_IN_TEXT.exec(text)?.[0];
  if (user !== undefined) return withUser(user);
  const plain = IN_TEXT.exec(text.replaceAll(ours, ""))?.[0];
  return plain === undefined ? undefined : notHttps("link", plain);
}

/** A person reads https://casino.example@evil.example as an address of the casino. */
function userIn(html: string): string | undefined {
  const found = addressesIn(html).find(({ url }) => USER.test(url));
  return found && withUser(found.url);
}

function withUser(url: string): string {
  return `a link has a user before its host, which hides where it leads: ${url.slice(0, 200)}`;
}

function flawOf(html: string): string | undefined {
  const addresses = addressesIn(html);
  for (const use of ["open", "load"] as const) {
    const other = addresses.find((one) => one.use === use && isElsewhere(one.url, FINE[use]));
    if (other) return notHttps(use === "open" ? "link" : "loaded address", other.url);
  }
  const element = ELEMENTS.exec(html)?.[1];
  if (element !== undefined) return `no message may have <${element.toLowerCase()}>`;
  if (valuesOf(html, META).some((name) => /refresh/i.test(name))) {
    return 'no message may have <meta http-equiv="refresh">, which opens another page';
  }
  const handler = HANDLER.exec(html)?.[1];
  return handler === undefined ? undefined : `no message may have code, such as ${handler.toLowerCase()}`;
}

function isElsewhere(url: string, fine: RegExp): boolean {
  return ANOTHER_PLACE.test(url) && !fine.test(url);
}

function notHttps(what: string, url: string): string {
  return `a ${what} is not https: ${url.slice(0, 200)}`;
}

/** Every address that the HTML leads to, once, in order; and whether a message may have it. Links to `baseUrl` may be plain. */
export function linksIn(html: string, baseUrl: string): { url: string; isAllowed: boolean }[] {
  const ours = oursIn(baseUrl);
  return addressesOf(html, "open").map((url) => ({
    url,
    isAllowed: !USER.test(url) && (FINE.open.test(url) || url.search(ours) === 0),
  }));
}

/**
 * Throws `invalid` for an address of the HTML's source that has no host: a mail has no address of its own, so nothing
 * would open or load. Addresses that are made of data, and those within the message, are left out.
 */
export function checkHosts(html: string | null | undefined): void {
  const dead = shownIn(html ?? "").find(({ url }) => !/^(?:#|$)|[{}]/.test(url) && !ANOTHER_PLACE.test(url));
  if (dead === undefined) return;
  const what = dead.use === "open" ? "link" : "picture";
  throw invalid(
    "html",
    `a ${what} leads nowhere without its host: ${dead.url.slice(0, 200)}; begin it with https://`,
  );
}

/** Throws `invalid`, naming the bodies, when one of several forms of a message has a flaw. */
export function checkLinks(forms: readonly Bodies[], baseUrl: string): void {
  const flaws = forms.flatMap((bodies) => flawsIn(bodies, baseUrl));
  const first = new Map(flaws.toReversed().map(({ body, message }) => [body, message]));
  const details = [...first].map(([field, message]): FaultDetail => ({ field, message }));
  const [one] = details;
  if (one) throw new Fault("invalid", { message: `${one.field}: ${one.message}`, details });
}
