import type { EmailMessage } from "#runtime/channels/channel.ts";
import type { FaultDetail } from "#runtime/faults.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";
import { markLinks } from "#tools/tracking/marks.ts";
import { type Rewrite, trackMail } from "#tools/tracking/track-mail.ts";
import type { Campaign } from "./campaign.ts";
import type { Recipient } from "./claim.ts";
import {
  type Carrier,
  type Compile,
  type Content,
  compiledOr,
  propertyVariables,
  type Setting,
  templateOf,
} from "./content.ts";
import { checkLinks } from "./links.ts";
import { parsePart, SOURCE_CHARACTERS } from "./liquid.ts";
import { completePlayer } from "./player-fields.ts";
import {
  type CompiledEmail,
  compileEmail,
  type EmailTemplate,
  listUnsubscribeHeaders,
  type PropertyVariables,
  playerVariables,
  withFooter,
} from "./render.ts";
import { preferencesUrl } from "./unsubscribe.ts";

/** The mail of a campaign, with the footer that the law asks for. */
export const emailContent: Compile<"email"> = async (context, campaign) => {
  const problems: FaultDetail[] = [];
  if (!context.property.postal_address) {
    problems.push({
      field: "postal_address",
      message: `the property has none, and a marketing email must show it; a signed-in manager sets it with update_property, or the operator with npm run tool -- update-property --property ${context.property.slug} --postal-address "…"; an API key cannot`,
    });
  }
  const own = (await ownProviders(context, "email", campaign.provider_id)).providers[0];
  const first = own
    ? { name: own.kind, fromAddress: own.from_address }
    : configuredProvider(context.config, "email");
  const from = senderOf(context, campaign, first);
  if (!from)
    problems.push({
      field: "from_email",
      message: "neither the campaign, the property nor EMAIL_FROM has one",
    });
  const compiled = await compile(context, campaign);
  if (Array.isArray(compiled)) problems.push(...compiled);
  if (problems.length > 0 || !from || Array.isArray(compiled)) return problems;
  const property = propertyVariables(context.property);
  const mail = { ...compiled, property, from, replyTo: campaign.reply_to };
  const senders = new WeakMap<Carrier, Mail["from"]>();
  const contentOf = (sent: Mail): Content<"email"> => ({
    channel: "email",
    messageTo: (recipient, link) => messageFor(sent, recipient, link),
    sentBy: (provider, message) => {
      const sender = senders.get(provider) ?? senderOf(context, campaign, provider) ?? from;
      senders.set(provider, sender);
      return isSame(sender, message.from) ? message : { ...message, from: sender };
    },
  });
  return {
    ...contentOf(mail),
    outgoing: async (setting) => contentOf(await tracked(setting, campaign, mail)),
  };
};

function isSame(one: Mail["from"], other: Mail["from"]): boolean {
  return one.email === other.email && one.name === other.name;
}

interface Mail {
  template: EmailTemplate;
  compiled: CompiledEmail;
  /** Puts counted links into a recipient's HTML. */
  rewrite?: Rewrite;
  property: PropertyVariables;
  from: { email: string; name?: string };
  replyTo: string | null;
}

function messageFor(mail: Mail, recipient: Recipient, link: string): EmailMessage {
  const variables = playerVariables(recipient, mail.property, {
    unsubscribe_url: link,
    preferences_url: preferencesUrl(link),
  });
  const { html, ...rendered } = mail.compiled.render(variables);
  const name = [recipient.first_name, recipient.last_name].filter(Boolean).join(" ");
  const toName = name.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return {
    id: recipient.send_id,
    to: recipient.address,
    from: mail.from,
    ...(toName !== "" && { toName }),
    ...(mail.replyTo && { replyTo: mail.replyTo }),
    ...rendered,
    ...(html !== undefined && { html: mail.rewrite?.(html, recipient.send_id) ?? html }),
    headers: listUnsubscribeHeaders(link),
  };
}

/** The mail with links that are counted, or that carry the campaign's parameters. */
async function tracked(context: Setting, campaign: Campaign, mail: Mail): Promise<Mail> {
  const { html } = mail.template;
  const isPlain = context.property.tracking === "off" && !campaign.utm;
  if (!html || isPlain) return mail;
  const marked = markLinks(html);
  // The marks are ours: what is within the limit without them goes out as it is.
  if (marked.source.length > SOURCE_CHARACTERS) return mail;
  const rewrite = await trackMail(context, campaign, marked);
  return { ...mail, compiled: compileEmail(mail.template, marked), rewrite };
}

function senderOf(
  { property, config }: Pick<Setting, "property" | "config">,
  campaign: Campaign,
  provider: Carrier,
): Mail["from"] | null {
  const kept = provider.name === "mailbox" ? `no-reply@${property.slug}.invalid` : null;
  const named = campaign.from_email ?? provider.fromAddress ?? property.from_email;
  const email = named ?? config.email.from ?? kept;
  if (!email) return null;
  return { email, name: campaign.from_name ?? property.from_name ?? property.name };
}

async function compile(
  context: Setting,
  campaign: Campaign,
): Promise<Pick<Mail, "template" | "compiled"> | FaultDetail[]> {
  const { template, deleted } = await templateOf(context, campaign);
  if (deleted.length > 0) return deleted;
  const content = partsOf(campaign, template);
  const { subject } = content;
  if (!subject) return [{ field: "subject", message: "the campaign has no subject" }];
  if (!content.html && !content.text) {
    return [
      {
        field: "body_html",
        message: "the campaign has no content; give body_html, body_text or template_id",
      },
    ];
  }
  const mjml = hasBody(campaign) ? campaign.body_mjml : (template?.mjml ?? null);
  const own = fieldsOf(campaign, mjml);
  return compiledOr(() => {
    const whole = withFooter({ ...content, subject }, propertyVariables(context.property));
    const compiled = compileEmail(whole);
    // Shows a variable that no player can have; what single players lack, the preflight shows.
    const links = {
      unsubscribe_url: "https://example.com/u",
      preferences_url: "https://example.com/preferences",
    };
    const player = completePlayer(compiled.variables);
    // An address that is missing is a problem of its own.
    const property = {
      ...propertyVariables(context.property),
      postal_address: context.property.postal_address ?? "-",
    };
    const variables = playerVariables(player, property, links);
    // First, because it has the lines that the author knows.
    if (mjml !== null) parsePart("html", mjml, "html").render(variables);
    const { html, text } = compiled.render(variables);
    checkLinks([whole, { html, text: whole.text && text }], context.config.baseUrl);
    return { template: whole, compiled };
  }, own);
}

/** The campaign's own words go before the template's; its bodies replace both of the template's. */
function partsOf(
  campaign: Campaign,
  template: (Pick<EmailTemplate, "html" | "text"> & { subject: string | null }) | null,
): Omit<EmailTemplate, "subject"> & { subject: string | null } {
  const own = hasBody(campaign);
  return {
    subject: campaign.subject ?? template?.subject ?? null,
    preheader: campaign.preheader,
    html: own ? campaign.body_html : (template?.html ?? null),
    text: own ? campaign.body_text : (template?.text ?? null),
  };
}

/** What the parts of the mail are called in the record that they come from. */
function fieldsOf(campaign: Campaign, mjml: string | null): Record<string, string> {
  if (!hasBody(campaign)) return mjml === null ? {} : { html: "mjml" };
  return { html: mjml === null ? "body_html" : "body_mjml", text: "body_text" };
}

function hasBody({ body_html, body_text }: Campaign): boolean {
  return body_html !== null || body_text !== null;
}
