import { createHash } from "node:crypto";
import { decodeHTMLStrict } from "entities";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { MarkedHtml } from "./marks.ts";
import { trackedLinks } from "./tokens.ts";
import { isWebAddress, type Utm, withUtm } from "./utm.ts";

type Campaign = { id: string; utm: Utm | null };

/** Replaces the marks in one recipient's HTML by the links that go out. */
export type Rewrite = (html: string, sendId: string) => string;

// Some mail clients and gateways cut longer addresses.
const LONGEST = 1_500;

/** Registers a campaign's links. Answers the function that puts them into each recipient's HTML. */
export async function trackMail(
  context: Tenant & Pick<Context, "config">,
  campaign: Campaign,
  marked: MarkedHtml,
): Promise<Rewrite> {
  const { property, config } = context;
  const { utm } = campaign;
  const own = [`${config.baseUrl}/u/`, `${config.baseUrl}/preferences/`];
  const addressOf = (value: string): string | null => {
    const url = decodeHTMLStrict(value).trim();
    return isWebAddress(url) && !own.some((start) => url.startsWith(start)) ? withUtm(url, utm) : null;
  };
  if (property.tracking === "off") {
    const plain = (_: number, value: string): string => {
      const url = addressOf(value);
      return url === null ? value : escapeAttribute(url);
    };
    return (html) => marked.replace(html, plain, "");
  }
  const links = trackedLinks(config, property.id);
  const ids = await registerLinks(context, campaign, marked.links);
  return (html, sendId) => {
    const link = (number: number, value: string): string => {
      const id = ids[number]!;
      if (!marked.links[number]!.isTemplate) return links.click(sendId, id);
      const url = addressOf(value);
      if (url === null) return value;
      return url.length > LONGEST ? escapeAttribute(url) : links.click(sendId, id, url);
    };
    return marked.replace(html, link, pixel(links.open(sendId)));
  };
}

/** Makes the one link of a campaign's messages, whose source is `source`: tracked, or with the campaign's parameters. */
export async function trackedLink(
  context: Tenant & Pick<Context, "config">,
  campaign: Campaign,
  source: string,
): Promise<(sendId: string, url: string) => string> {
  const { property, config } = context;
  const own = (url: string) => withUtm(url, campaign.utm);
  if (property.tracking === "off") return (_, url) => own(url);
  const isTemplate = /{[{%]/.test(source);
  const [id] = await registerLinks(context, campaign, [{ url: source, isTemplate }]);
  const links = trackedLinks(config, property.id);
  return (sendId, url) => {
    if (!isTemplate) return links.click(sendId, id!);
    return own(url).length > LONGEST ? own(url) : links.click(sendId, id!, own(url));
  };
}

/** The ids of the campaign's links, in the order of their numbers. */
async function registerLinks(
  { sql, property }: Tenant,
  campaign: Campaign,
  links: MarkedHtml["links"],
): Promise<string[]> {
  const rows = links.map((link) => {
    const url = link.isTemplate ? link.url : withUtm(link.url, campaign.utm);
    return { url, url_hash: createHash("sha256").update(url).digest("hex"), is_template: link.isTemplate };
  });
  if (rows.length === 0) return [];
  await sql`
    insert into campaign_links (property_id, campaign_id, url, url_hash, is_template)
    select distinct on (url_hash) ${property.id}::uuid, ${campaign.id}::uuid, url, decode(url_hash, 'hex'), is_template
    from json_to_recordset(${rows}::json) as l(url text, url_hash text, is_template boolean)
    order by url_hash
    on conflict (property_id, campaign_id, url_hash) do nothing`;
  const known = await sql<{ id: string; url_hash: string }[]>`
    select id, encode(url_hash, 'hex') as url_hash from campaign_links
    where property_id = ${property.id} and campaign_id = ${campaign.id}`;
  const ids = new Map(known.map(({ id, url_hash }) => [url_hash, id]));
  return rows.map(({ url_hash }) => ids.get(url_hash)!);
}

/** The address of a link, the same for all recipients; null when the link does not exist. */
export async function linkAddress({ sql, property }: Tenant, linkId: string): Promise<string | null> {
  const [link] = await sql<{ url: string }[]>`
    select url from campaign_links where property_id = ${property.id} and id = ${linkId} and not is_template`;
  return link?.url ?? null;
}

function escapeAttribute(url: string): string {
  return url.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

function pixel(url: string): string {
  return `<img src="${url}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`;
}
