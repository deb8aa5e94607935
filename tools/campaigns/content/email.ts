import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import type { FaultDetail } from "#runtime/faults.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { messageLinks, type PageLinks, preferencesUrl } from "#tools/player-links/links.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";
import { withFooter } from "#tools/templates/rendering/email-document.ts";
import {
  type CompiledEmail,
  compileEmail,
  type EmailTemplate,
  listUnsubscribeHeaders,
  oneLine,
  type PropertyVariables,
  playerVariables,
} from "#tools/templates/rendering/email-template.ts";
import { completePlayer, SOURCE_CHARACTERS } from "#tools/templates/rendering/liquid.ts";
import { type Part, tryParts } from "#tools/templates/rendering/trial.ts";
import { type Look, lookOf } from "#tools/themes/theme.ts";
import { markLinks } from "#tools/tracking/marks.ts";
import { type Rewrite, trackMail } from "#tools/tracking/track-mail.ts";
import { hasLinksOfData } from "./addresses.ts";
import {
  type Compile,
  type CompileContext,
  type Content,
  checkHosts,
  checkLinks,
  compiledBeside,
  compiledOr,
  NO_SUBJECT,
  propertyVariables,
  type Recipient,
  type SenderSource,
  templateOf,
} from "./content.ts";

/** The mail of a campaign, with the footer that the law requires. */
export const emailContent: Compile<"email"> = async (context, campaign) => {
  const own = (await ownProviders(context, "email", campaign.provider_id)).providers[0];
  const first = own
    ? { name: own.kind, fromAddress: own.from_address }
    : configuredProvider(context.config, "email");
  const from = senderOf(context, campaign, first);
  const compiled = await compile(context, campaign);
  const problems = [
    ...(context.property.postal_address ? [] : [noPostalAddress(context.property.slug)]),
    ...(from ? [] : [NO_SENDER]),
    ...(Array.isArray(compiled) ? compiled : []),
  ];
  if (problems.length > 0 || !from || Array.isArray(compiled)) return problems;
  const property = propertyVariables(context.property);
  const pageLinks = messageLinks(context.config, context.property.id, compiled.compiled.variables);
  const mail = { ...compiled, property, from, replyTo: campaign.reply_to, pageLinks };
  const senders = new WeakMap<SenderSource, Mail["from"]>();
  const contentOf = (sent: Mail): Content<"email"> => ({
    channel: "email",
    variables: compiled.compiled.variables,
    messageTo: (recipient, link) => messageFor(sent, recipient, link),
    sentBy: (provider, message) => {
      const sender = senders.get(provider) ?? senderOf(context, campaign, provider) ?? from;
      senders.set(provider, sender);
      return isSame(sender, message.from) ? message : { ...message, from: sender };
    },
  });
  return {
    ...contentOf(mail),
    outgoing: async (deliveryContext) => contentOf(await outgoing(deliveryContext, campaign, mail)),
  };
};

function noPostalAddress(slug: string): FaultDetail {
  return {
    field: "postal_address",
    message: `the property has none, and a marketing email must show it; a signed-in manager sets it with update_property, or the operator with npm run tool -- update-property --property ${slug} --postal-address "…"; an API key cannot`,
  };
}

const NO_SENDER: FaultDetail = {
  field: "from_email",
  message: "neither the campaign, the property nor EMAIL_FROM has one",
};

function isSame(one: Mail["from"], other: Mail["from"]): boolean {
  return one.email === other.email && one.name === other.name;
}

interface Mail {
  template: EmailTemplate;
  compiled: CompiledEmail;
  /** Puts tracked links into a recipient's HTML. */
  rewrite?: Rewrite;
  /** Refuses a link that a recipient's data has put into the HTML. */
  check?(html: string): void;
  property: PropertyVariables;
  from: { email: string; name?: string };
  replyTo: string | null;
  /** The links to the player's pages in the message of a send. */
  pageLinks(sendId: string): PageLinks;
}

function messageFor(mail: Mail, recipient: Recipient, link: string): EmailMessage {
  const variables = playerVariables(recipient, mail.property, {
    unsubscribe_url: link,
    preferences_url: preferencesUrl(link),
    ...mail.pageLinks(recipient.send_id),
  });
  const { html, ...rendered } = mail.compiled.render(variables);
  if (html !== undefined) mail.check?.(html);
  const name = [recipient.first_name, recipient.last_name].filter(Boolean).join(" ");
  const toName = oneLine(name);
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

/** The mail as it is delivered: the preflight has looked at some recipients' links alone. */
async function outgoing(context: CompileContext, campaign: Campaign, mail: Mail): Promise<Mail> {
  const { clean, ...sent } = await tracked(context, campaign, mail);
  if (!mail.template.html || !hasLinksOfData(mail.template.html)) return sent;
  const { baseUrl } = context.config;
  return { ...sent, check: (html) => checkLinks([{ html: clean?.(html) ?? html }], baseUrl) };
}

/** The mail with tracked links, or with links that carry the campaign's parameters. `clean` takes the marks out. */
async function tracked(
  context: CompileContext,
  campaign: Campaign,
  mail: Mail,
): Promise<Mail & { clean?(html: string): string }> {
  const { html } = mail.template;
  const isPlain = context.property.tracking === "off" && !campaign.utm;
  if (!html || isPlain) return mail;
  const marked = markLinks(html);
  // Our marks alone may pass the limit. Then the mail goes out without them.
  if (marked.source.length > SOURCE_CHARACTERS) return mail;
  const rewrite = await trackMail(context, campaign, marked);
  return { ...mail, compiled: compileEmail(mail.template, marked), rewrite, clean: marked.clean };
}

function senderOf(
  { property, config }: Pick<CompileContext, "property" | "config">,
  campaign: Campaign,
  provider: SenderSource,
): Mail["from"] | null {
  const mailbox = provider.name === "mailbox" ? `no-reply@${property.slug}.invalid` : null;
  const named = campaign.from_email ?? provider.fromAddress ?? property.from_email;
  const email = named ?? config.email.from ?? mailbox;
  if (!email) return null;
  return { email, name: oneLine(campaign.from_name ?? property.from_name ?? property.name) };
}

async function compile(
  context: CompileContext,
  campaign: Campaign,
): Promise<Pick<Mail, "template" | "compiled"> | FaultDetail[]> {
  const [{ template, deleted }, look] = await Promise.all([templateOf(context, campaign), lookOf(context)]);
  if (deleted.length > 0) return deleted;
  const content = partsOf(campaign, template);
  const { subject } = content;
  const missing = subject ? [] : [{ field: "subject", message: "the campaign has no subject" }];
  if (!content.html && !content.text) {
    return [
      ...missing,
      {
        field: "body_html",
        message: "the campaign has no content; give body_html, body_text or template_id",
      },
    ];
  }
  const mjml = hasBody(campaign) ? campaign.body_mjml : (template?.mjml ?? null);
  const compiling = compiledOr(
    context,
    () => compiledMail(context, { ...content, subject: subject || NO_SUBJECT }, { mjml, look }),
    fieldsOf(campaign, mjml),
  );
  return compiledBeside(missing, compiling);
}

/** Throws `invalid`, with the fields, about everything that cannot be rendered for a player with all values. */
function compiledMail(
  { property, config }: CompileContext,
  content: EmailTemplate,
  { mjml, look }: { mjml: string | null; look: Look },
): Pick<Mail, "template" | "compiled"> {
  const links = {
    unsubscribe_url: "https://example.com/u",
    preferences_url: "https://example.com/preferences",
    inbox_url: "https://example.com/inbox",
    game_url: "https://example.com/games",
  };
  // A missing address is a problem of its own.
  const values = { ...propertyVariables(property), postal_address: property.postal_address ?? "-" };
  const variablesFor = (names: readonly string[]) => playerVariables(completePlayer(names), values, links);
  // MJML in place of the HTML made of it: its errors name the lines that the author knows.
  const parts: Part[] = [
    { field: "subject", source: content.subject, engine: "text" },
    { field: "preheader", source: content.preheader, engine: "html" },
    { field: "html", source: mjml ?? content.html, engine: "html" },
    { field: "text", source: content.text, engine: "text" },
  ];
  tryParts(
    parts,
    variablesFor,
    () => checkLinks([content], config.baseUrl),
    () => checkHosts(content.html),
  );
  const template = withFooter(content, propertyVariables(property), look);
  const compiled = compileEmail(template);
  const { html, text } = compiled.render(variablesFor(compiled.variables));
  checkLinks([template, { html, text: template.text && text }], config.baseUrl);
  return { template, compiled };
}

/** The campaign's subject goes before the template's; its bodies replace both of the template's. */
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

/** The names of the mail's parts in the record that holds them. */
function fieldsOf(campaign: Campaign, mjml: string | null): Record<string, string> {
  if (!hasBody(campaign)) return mjml === null ? {} : { html: "mjml" };
  return { html: mjml === null ? "body_html" : "body_mjml", text: "body_text" };
}

function hasBody({ body_html, body_text }: Campaign): boolean {
  return body_html !== null || body_text !== null;
}
