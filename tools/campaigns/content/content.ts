import type { Messages, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import { inTurns } from "#runtime/limits/turns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import type { Candidate } from "#tools/providers/choose.ts";
import type { PropertyVariables } from "#tools/templates/rendering/email-template.ts";
import type { VoiceScript } from "#tools/voice/script.ts";

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

/** All templates that a campaign's messages may come from, with the field that names each. */
export function templatesOf({
  template_id,
  ab_test,
}: Pick<Campaign, "template_id" | "ab_test">): { field: string; id: string }[] {
  const named = [
    { field: "template_id", id: template_id },
    ...(ab_test?.variants ?? []).map((variant, index) => {
      return { field: `ab_test.variants[${index}].template_id`, id: variant.template_id };
    }),
  ];
  return named.flatMap(({ field, id }) => (id ? [{ field, id }] : []));
}

/** Locks the campaign's templates, so that their content stays to the end of the transaction. */
export async function lockTemplates(
  { sql, property }: Tenant,
  campaign: Pick<Campaign, "template_id" | "ab_test">,
): Promise<void> {
  const ids = templatesOf(campaign).map(({ id }) => id);
  if (ids.length === 0) return;
  await sql`select from templates where property_id = ${property.id} and id = any(${ids}::uuid[]) for share`;
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
  return [...found, ...(Array.isArray(compiled) ? compiled : [])];
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
