import { Fault } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { templatesOf } from "#tools/campaigns/content/content.ts";
import { audienceSql } from "#tools/campaigns/planning/audience.ts";

/** A confirmed operation counts the audience again, which is linear in it. */
export const CONFIRMED_DEADLINE_MS = 15_000;

/** The state of a campaign that an agent confirms: its content, the rules of its audience, and the audience's number. */
export async function campaignState(context: Context, campaign: Campaign): Promise<string> {
  const { sql, property } = context;
  const audience = await audienceSql(context, campaign);
  const [counted, content] = await Promise.all([
    sql<[{ count: number }]>`
      select count(*)::int as count from players p where p.property_id = ${property.id} and ${audience}`,
    contentState(context, campaign),
  ]);
  return `${content} ${counted[0].count}`;
}

/** The same without the audience's number: a planned campaign has that in its sends. */
export async function contentState({ sql, property }: Tenant, campaign: Campaign): Promise<string> {
  const segments = [campaign.segment_id, ...campaign.exclude_segment_ids].filter((id) => id !== null);
  const templates = templatesOf(campaign).map(({ id }) => id);
  const [versions] = await sql<[{ templates: string | null; segments: string | null }]>`
    select (select string_agg(id || '.' || version, ' ' order by id) from templates
        where property_id = ${property.id} and id = any(${templates}::uuid[])) as templates,
      (select string_agg(id || '.' || version, ' ' order by id) from segments
        where property_id = ${property.id} and id = any(${segments}::uuid[])) as segments`;
  return `${campaign.id}.${campaign.version} templates ${versions.templates} audience ${versions.segments}`;
}

/** Throws `precondition_failed` where an agent has confirmed another state than the present one. */
export async function checkConfirmed({ confirmed }: Context, present: () => Promise<string>): Promise<void> {
  if (!confirmed || (await present()) === confirmed.bound) return;
  throw new Fault("precondition_failed", {
    message: "The campaign or its audience has changed since the confirmed preview.",
  });
}
