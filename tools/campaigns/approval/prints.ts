import type { Tenant } from "#runtime/operation/context.ts";
import {
  type Approvable,
  type Fields,
  type Prints,
  printsOf,
  segmentFields,
} from "#tools/approvals/approval.ts";
import { type Campaign, sendingChannel, templatesOf } from "#tools/campaigns/campaign/campaign.ts";
import { propertyVariables } from "#tools/campaigns/content/content.ts";
import { referencesOf } from "#tools/campaigns/planning/audience.ts";
import { carrierOf } from "#tools/providers/choose.ts";
import { themeOf } from "#tools/themes/theme.ts";

/** The columns that are approved, by their part, each in words. */
export const APPROVED_COLUMNS = {
  content: {
    subject: "the subject",
    preheader: "the preheader",
    from_name: "the sender's name",
    from_email: "the sender's address",
    reply_to: "the address of replies",
    body_html: "the HTML",
    body_mjml: "the MJML",
    body_text: "the text",
    template_id: "the template",
    utm: "the parameters of its links",
    inbox: "the offer and the button in the inbox",
    game_ticket: "the ticket for a game",
    voice_script: "the script of the call",
  },
  audience: {
    segment_id: "the segment",
    exclude_segment_ids: "the segments that are left out",
    audience: "the audience",
    conditions: "the audience's conditions",
    logic: "how the conditions join",
  },
  channel: { channel: "the channel" },
  time: { scheduled_at: "the time", send_in_player_timezone: "whose clock it goes by" },
  flags: {
    ignore_frequency_cap: "whether frequency rules hold",
    is_transactional: "whether it is transactional",
    tags: "the tags, by which frequency rules count",
    holdout_percent: "the share that gets nothing",
  },
  provider: { provider_id: "the provider" },
  variants: { ab_test: "the test of variants", goal: "the goal" },
} as const satisfies Record<keyof Approvable, Partial<Record<keyof Campaign, string>>>;

/** The key of a template among the fields of the content. */
export const templateKey = (id: string) => `template ${id}`;

/** The prints of all that a campaign sends. Once it has started its audience is fixed, and is left out. */
export async function campaignPrints(context: Tenant, campaign: Campaign): Promise<Prints> {
  const part = (name: keyof Approvable): Fields => columnsOf(campaign, APPROVED_COLUMNS[name]);
  const carrier = await carrierOf(context, sendingChannel(campaign), campaign.provider_id);
  const house = await houseFields(context, campaign, carrier);
  const { audience, ...prints } = printsOf({
    content: { ...part("content"), ...house, ...(await templateFields(context, campaign)) },
    audience: { ...part("audience"), ...(await ruleFields(context, campaign)) },
    channel: part("channel"),
    time: part("time"),
    flags: { ...part("flags"), clock: clockField(context, campaign), ...lawFields(context, campaign) },
    provider: { ...part("provider"), carrier: { words: CARRIER, value: carrier } },
    variants: part("variants"),
  });
  return campaign.started_at === null ? { ...prints, audience: audience! } : prints;
}

function columnsOf(campaign: Campaign, columns: Partial<Record<keyof Campaign, string>>): Fields {
  return Object.fromEntries(
    Object.entries(columns).map(([name, words]) => [
      name,
      { words, value: campaign[name as keyof Campaign] },
    ]),
  );
}

/** The players' hour is that of the property's clock. No other call than `schedule_campaign` writes the time itself. */
function clockField({ property }: Tenant, campaign: Campaign): Fields[string] {
  return {
    words: "the property's clock, by which its hour goes",
    value: campaign.send_in_player_timezone ? property.timezone : null,
  };
}

/** The property's settings by which the gate lets players in. */
function lawFields({ property }: Tenant, campaign: Campaign): Fields {
  const { min_age, email_consent_mode, tracking } = property;
  const channel = sendingChannel(campaign);
  return {
    age: { words: "the least age of the property's players", value: min_age },
    ...(channel === "email" && {
      consent: { words: "whether the property's mail needs consent", value: email_consent_mode },
    }),
    tracking: { words: "whether the property counts opens and clicks", value: tracking },
  };
}

/** A change of the property's providers, in words: another default may reach people where the approved one reached nobody. */
export const CARRIER = "the provider that carries it";

/** The parts that come from the property's settings: people get the message with them. */
async function houseFields(
  { sql, property }: Tenant,
  campaign: Campaign,
  carrier: { from_address: string | null } | null,
): Promise<Fields> {
  const channel = sendingChannel(campaign);
  const [optOut] =
    channel === "sms" ? await sql`select sms_opt_out_text from properties where id = ${property.id}` : [];
  const value = { ...propertyVariables(property), ...optOut };
  const footer = { words: "the property's names and footer", value };
  if (channel !== "email") return { footer };
  const { name, logo, typeface, language, light, dark } = await themeOf({ sql, property });
  const sender = {
    email: campaign.from_email || carrier?.from_address ? null : property.from_email,
    name: campaign.from_name ? null : (property.from_name ?? property.name),
  };
  const look = { name, logo, typeface, language, light, dark };
  return {
    sender: { words: "the property's default sender", value: sender },
    footer,
    look: { words: "the look of the property's mails", value: look },
  };
}

async function templateFields({ sql, property }: Tenant, campaign: Campaign): Promise<Fields> {
  const ids = templatesOf(campaign).map(({ id }) => id);
  if (ids.length === 0) return {};
  const templates = await sql<{ id: string; name: string; value: unknown }[]>`
    select id, name, jsonb_build_object('subject', subject, 'html', html, 'mjml', mjml, 'text', text, 'voice_script', voice_script) as value
    from templates where property_id = ${property.id} and id = any(${ids}::uuid[]) and deleted_at is null`;
  return Object.fromEntries(
    templates.map(({ id, name, value }) => [
      templateKey(id),
      { words: `the template ${JSON.stringify(name)}`, value },
    ]),
  );
}

async function ruleFields(context: Tenant, campaign: Campaign): Promise<Fields> {
  return campaign.started_at === null ? segmentFields(referencesOf(context, campaign)) : {};
}
