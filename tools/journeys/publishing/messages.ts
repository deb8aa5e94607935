import { NIL_UUID } from "#db/types.ts";
import { Fault, invalid, toFault } from "#runtime/faults.ts";
import { storedNames } from "#runtime/operation/columns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { columns } from "#tools/campaigns/campaign/columns.ts";
import type { MessageParts } from "#tools/campaigns/content/message-words.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";
import type { Node, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import { htmlOf } from "#tools/templates/mjml/render.ts";

/** The journey that a message belongs to. */
export interface Owner {
  id: string;
  name: string;
  priority: number;
  quiet_hours: Journey["quiet_hours"];
}

interface Template {
  channel: string;
  subject: string | null;
  html: string | null;
  text: string | null;
  voice_script: unknown;
}

const NAME_CHARACTERS = 200;

/**
 * The values of the campaign of a message node, with the texts of its template as they are now: a later change of the
 * template changes no message of a published version. Throws `invalid` or `not_found` about the content.
 */
export async function messageValues(
  context: Tenant,
  { id: journeyId, name, priority, quiet_hours }: Owner,
  { id, config }: NodeOf<"message">,
): Promise<Record<string, unknown>> {
  const { template_id, body_mjml, ...own } = config;
  const template = template_id ? await templateOf(context, template_id, config.channel) : null;
  const html = body_mjml
    ? await htmlOf("body_mjml", body_mjml, context.property.id)
    : (own.body_html ?? template?.html ?? null);
  return {
    ...own,
    name: `${name}: ${id}`.slice(0, NAME_CHARACTERS),
    subject: own.subject ?? template?.subject ?? null,
    body_html: html,
    body_text: own.body_text ?? template?.text ?? null,
    voice_script: own.voice_script ?? template?.voice_script ?? null,
    priority,
    quiet_hours,
    journey_id: journeyId,
    journey_node: id,
  };
}

/** The parts of each message of a definition as templates, by its node. A call's text is its script. */
export async function messageParts(
  context: Tenant,
  journey: Owner,
  nodes: readonly Node[],
): Promise<ReadonlyMap<string, MessageParts>> {
  const shown = new Map<string, MessageParts>();
  for (const node of nodes) {
    if (node.type !== "message") continue;
    const { subject, preheader, body_html, body_text, voice_script, inbox } = await messageValues(
      context,
      journey,
      node,
    );
    const text = voice_script ? JSON.stringify(voice_script) : body_text;
    shown.set(node.id, { subject, preheader, html: body_html, text, inbox } as MessageParts);
  }
  return shown;
}

async function templateOf({ sql, property }: Tenant, id: string, channel: string): Promise<Template> {
  const [template] = await sql<Template[]>`
    select channel, subject, html, text, voice_script from templates
    where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  if (!template) {
    throw new Fault("not_found", {
      message: `no template ${id} in this property; list_templates shows them`,
    });
  }
  if (template.channel === channel) return template;
  throw invalid("template_id", `is a template for ${template.channel}, and the message goes by ${channel}`);
}

/** Everything that prevents the message of a node from being sent. */
export async function messageProblems(
  context: Context,
  journey: Owner,
  node: NodeOf<"message">,
): Promise<Problem[]> {
  const asProblem = ({ field, message }: { field: string; message: string }): Problem => {
    return { node: node.id, field, message: `${field}: ${message}` };
  };
  try {
    const campaign = await asCampaign(context, await messageValues(context, journey, node));
    const { problems } = await checkReadiness(context, campaign);
    return problems.map(asProblem);
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    return (fault.details ?? [{ field: "template_id", message: fault.message }]).map(asProblem);
  }
}

/** A campaign of these values as it would be stored. */
export async function asCampaign({ sql }: Tenant, values: Record<string, unknown>): Promise<Campaign> {
  const stored = {
    id: NIL_UUID,
    status: "sending",
    exclude_segment_ids: [],
    logic: "and",
    holdout_percent: 0,
    ...values,
  };
  const [campaign] = await sql<[Campaign]>`
    select ${storedNames(columns)} from jsonb_populate_record(null::campaigns, ${stored}::jsonb) campaigns`;
  return campaign;
}
