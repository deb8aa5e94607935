import { createHash } from "node:crypto";
import type { Context } from "#runtime/context.ts";
import type { Campaign } from "#tools/campaigns/campaign.ts";
import { decodeEntities } from "#tools/campaigns/plain-text.ts";
import type { MarkedHtml } from "./marks.ts";
import { trackedLinks } from "./tokens.ts";
import { isWebAddress, withUtm } from "./utm.ts";

type Setting = Pick<Context, "sql" | "property" | "config">;

/** The HTML of one recipient with its links as they go out. */
export type Rewrite = (html: string, sendId: string) => string;

// Some mail clients and gateways cut an address that is longer.
const LONGEST = 1_500;

/** Registers a campaign's links, and gives what puts them into each recipient's HTML. */
export async function trackMail(context: Setting, campaign: Campaign, marked: MarkedHtml): Promise<Rewrite> {
  const { property, config } = context;
  const { utm } = campaign;
  const own = [`${config.baseUrl}/u/`, `${config.baseUrl}/preferences/`];
  const addressOf = (value: string): string | null => {
    const url = decodeEntities(value).trim();
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
  const ids = await registerLinks(context, campaign, marked);
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

/** The ids of the campaign's links, in the order of their numbers. */
async function registerLinks(
  { sql, property }: Setting,
  campaign: Campaign,
  { links }: MarkedHtml,
): Promise<string[]> {
  const rows = links.map((link) => {
    const url = link.isTemplate ? link.url : withUtm(link.url, campaign.utm);
    return { url, url_hash: createHash("sha256").update(url).digest("hex"), is_template: link.isTemplate };
  });
  if (rows.length === 0) return [];
  await sql`
    insert into campaign_links (property_id, campaign_id, url, url_hash, is_template)
    select distinct on (url_hash) ${property.id}::uuid, ${campaign.id}::uuid, url, decode(url_hash, 'hex'), is_template
    from json_to_recordset(${rows as never}::json) as l(url text, url_hash text, is_template boolean)
    order by url_hash
    on conflict (property_id, campaign_id, url_hash) do nothing`;
  const known = await sql<{ id: string; url_hash: string }[]>`
    select id, encode(url_hash, 'hex') as url_hash from campaign_links
    where property_id = ${property.id} and campaign_id = ${campaign.id}`;
  const ids = new Map(known.map(({ id, url_hash }) => [url_hash, id]));
  return rows.map(({ url_hash }) => ids.get(url_hash)!);
}

function escapeAttribute(url: string): string {
  return url.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

function pixel(url: string): string {
  return `<img src="${url}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`;
}
