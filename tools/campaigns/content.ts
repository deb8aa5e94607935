import type { Property } from "#runtime/directory.ts";
import { Fault, type FaultDetail, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation.ts";
import { hasAudience } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import { parsePart } from "./liquid.ts";
import { completePlayer } from "./player-fields.ts";
import {
  type CompiledEmail,
  compileEmail,
  type EmailTemplate,
  type PropertyVariables,
  playerVariables,
  withFooter,
} from "./render.ts";

/** The fields of a campaign or a template that hold Liquid, and the engine that each is for. */
const PARTS = {
  subject: "text",
  preheader: "html",
  body_html: "html",
  body_text: "text",
  html: "html",
  text: "text",
} as const;

/** Refuses Liquid that does not parse, naming the field. */
export function checkSyntax(record: Record<string, unknown>): void {
  for (const [field, engine] of Object.entries(PARTS)) {
    const source = record[field];
    if (typeof source === "string") parsePart(field, source, engine);
  }
}

/** The mail that a campaign sends: compiled once, the same for all recipients. */
export interface Mail {
  compiled: CompiledEmail;
  property: PropertyVariables;
  from: { email: string; name?: string };
  replyTo: string | null;
}

/** What stands in the way of sending, a sentence a field; with the mail, when nothing does. */
export type Readiness = { mail: Mail; problems: [] } | { mail: null; problems: FaultDetail[] };

type Setting = Pick<Context, "sql" | "property" | "config">;

/** Whether the campaign can be sent as it is now. Looks at the database, at no provider. */
export async function readiness(context: Setting, campaign: Campaign): Promise<Readiness> {
  const problems: FaultDetail[] = [];
  if (campaign.channel !== "email") problems.push(wrongChannel(campaign.channel));
  if (!hasAudience(campaign)) {
    problems.push({
      field: "segment_id",
      message: 'the campaign has no audience; give segment_id, conditions, or audience: "all"',
    });
  }
  if (!context.property.postal_address) {
    problems.push({
      field: "postal_address",
      message: "the property has none, and a marketing email must show it; set it with update_property",
    });
  }
  const from = senderOf(context, campaign);
  if (!from)
    problems.push({
      field: "from_email",
      message: "neither the campaign, the property nor EMAIL_FROM has one",
    });
  const compiled = campaign.channel === "email" ? await compiledContent(context, campaign) : [];
  if (Array.isArray(compiled)) problems.push(...compiled);
  if (problems.length > 0 || !from || Array.isArray(compiled)) return { mail: null, problems };
  const property = propertyVariables(context.property);
  return { mail: { compiled, property, from, replyTo: campaign.reply_to }, problems: [] };
}

/** One fault of all that stands in the way. */
export function notReady(problems: FaultDetail[]): Fault {
  const message = problems.map((problem) => `${problem.field}: ${problem.message}`).join("; ");
  return new Fault("invalid", { message, details: problems });
}

function wrongChannel(channel: Campaign["channel"]): FaultDetail {
  const other = channel === "sms" ? "; send_sms_campaign sends sms" : "";
  return { field: "channel", message: `is ${channel}, and this operation sends email${other}` };
}

function senderOf({ property, config }: Setting, campaign: Campaign): Mail["from"] | null {
  const kept = config.email.provider === "mailbox" ? `no-reply@${property.slug}.invalid` : null;
  const email = campaign.from_email ?? property.from_email ?? config.email.from ?? kept;
  if (!email) return null;
  return { email, name: campaign.from_name ?? property.from_name ?? property.name };
}

/** The footer names somebody, whatever the property has filled in. */
function propertyVariables(property: Property): PropertyVariables {
  const { name, legal_name, postal_address, responsible_gaming_footer, privacy_policy_url } = property;
  return {
    name,
    legal_name: legal_name ?? name,
    postal_address,
    responsible_gaming_footer,
    privacy_policy_url,
  };
}

interface TemplateRow {
  subject: string | null;
  html: string | null;
  text: string | null;
}

/** The compiled content, or why there is none. */
async function compiledContent(context: Setting, campaign: Campaign): Promise<CompiledEmail | FaultDetail[]> {
  const template = campaign.template_id ? await findTemplate(context, campaign.template_id) : null;
  if (campaign.template_id && !template) {
    return [{ field: "template_id", message: `template ${campaign.template_id} has been deleted` }];
  }
  const content = contentOf(campaign, template);
  if (!content.subject) return [{ field: "subject", message: "the campaign has no subject" }];
  if (!content.html && !content.text) {
    return [
      {
        field: "body_html",
        message: "the campaign has no content; give body_html, body_text or template_id",
      },
    ];
  }
  const own: Record<string, string> = hasBody(campaign) ? { html: "body_html", text: "body_text" } : {};
  try {
    const compiled = compileEmail(withFooter({ ...content, subject: content.subject }));
    // Shows a variable that no player can have; what single players lack, the preflight shows.
    const links = { unsubscribe_url: "https://example.com/u" };
    const player = completePlayer(compiled.variables);
    // An address that is missing is a problem of its own.
    const property = {
      ...propertyVariables(context.property),
      postal_address: context.property.postal_address ?? "-",
    };
    compiled.render(playerVariables(player, property, links));
    return compiled;
  } catch (error) {
    const fault = toFault(error);
    if (fault.code !== "invalid") throw error;
    return (fault.details ?? []).map(({ field, message }) => ({ field: own[field] ?? field, message }));
  }
}

async function findTemplate({ sql, property }: Setting, id: string): Promise<TemplateRow | null> {
  const [template] = await sql<TemplateRow[]>`
    select subject, html, text from templates
    where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  return template ?? null;
}

/** The campaign's own words go before the template's; its bodies replace both of the template's. */
function contentOf(
  campaign: Campaign,
  template: TemplateRow | null,
): Omit<EmailTemplate, "subject"> & { subject: string | null } {
  const own = hasBody(campaign);
  return {
    subject: campaign.subject ?? template?.subject ?? null,
    preheader: campaign.preheader,
    html: own ? campaign.body_html : (template?.html ?? null),
    text: own ? campaign.body_text : (template?.text ?? null),
  };
}

function hasBody({ body_html, body_text }: Campaign): boolean {
  return body_html !== null || body_text !== null;
}
