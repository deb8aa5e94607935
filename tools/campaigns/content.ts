import type { Messages, SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import type { Property } from "#runtime/directory.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import type { Candidate } from "#tools/providers/choose.ts";
import { templatesOf } from "./ab-test.ts";
import type { Campaign } from "./campaign.ts";
import type { Recipient } from "./claim.ts";
import { type Engine, parsePart } from "./liquid.ts";
import type { PropertyVariables } from "./render.ts";

/** The fields of a campaign or a template that hold Liquid, and the engine that each is for. */
const PARTS: Record<string, Engine> = {
  subject: "text",
  preheader: "html",
  body_html: "html",
  body_text: "text",
  html: "html",
  text: "text",
};

/** Refuses Liquid that does not parse, naming the field. Answers the variables that it takes, sorted. */
export function checkSyntax(record: Record<string, unknown>): string[] {
  const names = Object.entries(PARTS).flatMap(([field, engine]) => {
    const source = record[field];
    return typeof source === "string" ? parsePart(field, source, engine).variables : [];
  });
  return [...new Set(names)].sort();
}

/** What a campaign sends by a channel: compiled once, the same for all recipients. */
export interface Content<C extends SendingChannel = SendingChannel> {
  channel: C;
  /** The ids of its variants, where it has some: a recipient's `variant_id` is one of them. */
  variants?: readonly string[];
  /** The message to one recipient. `invalid`, with the field, where it cannot be rendered. */
  messageTo(recipient: Recipient, unsubscribeUrl: string): Messages[C];
  /** The same as it goes out, where that is not how it is looked at before: with links that are counted. */
  outgoing?(context: Setting): Promise<Content<C>>;
  /** The message as that provider sends it: by its own sender, where the campaign names none. */
  sentBy(provider: Carrier, message: Messages[C]): Messages[C];
}

/** What a message's sender depends on. */
export type Carrier = Pick<Candidate, "name" | "fromAddress">;

/** What compiling needs of a context. Looks at the database, at no provider. */
export type Setting = Pick<Context, "sql" | "property" | "config">;

/** The content of a campaign on one channel, or a sentence for each field that stands in the way. */
export type Compile<C extends SendingChannel> = (
  context: Setting,
  campaign: Campaign,
) => Promise<Content<C> | FaultDetail[]>;

/** The content's template, where it has one; `deleted` says that it is gone. */
export async function templateOf(
  { sql, property }: Setting,
  { template_id }: Campaign,
): Promise<{ template: TemplateRow | null; deleted: FaultDetail[] }> {
  if (template_id === null) return { template: null, deleted: [] };
  const [template] = await sql<TemplateRow[]>`
    select subject, html, mjml, text from templates
    where property_id = ${property.id} and id = ${template_id} and deleted_at is null`;
  if (template) return { template, deleted: [] };
  return {
    template: null,
    deleted: [{ field: "template_id", message: `template ${template_id} has been deleted` }],
  };
}

/** Keeps the campaign's templates as they are to the end of the transaction. */
export async function holdTemplates(
  { sql, property }: Pick<Context, "sql" | "property">,
  campaign: Pick<Campaign, "template_id" | "ab_test">,
): Promise<void> {
  const ids = templatesOf(campaign).map(({ id }) => id);
  if (ids.length === 0) return;
  await sql`select from templates where property_id = ${property.id} and id in ${sql(ids)} for share`;
}

interface TemplateRow {
  subject: string | null;
  html: string | null;
  mjml: string | null;
  text: string | null;
}

/** What `compile` makes, or its `invalid` fault as problems, under the campaign's own names of the fields. */
export function compiledOr<T>(compile: () => T, own: Record<string, string>): T | FaultDetail[] {
  try {
    return compile();
  } catch (error) {
    const fault = toFault(error);
    if (fault.code !== "invalid") throw error;
    return (fault.details ?? []).map(({ field, message }) => ({ field: own[field] ?? field, message }));
  }
}

/** What a property is called in messages: they name somebody, whatever it has filled in. */
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
