import type { Context } from "#runtime/context.ts";
import { Fault } from "#runtime/faults.ts";
import { templatesOf } from "./ab-test.ts";
import { audienceSql } from "./audience.ts";
import type { Campaign } from "./campaign.ts";

/** Counting an audience is linear in it, and sending what an agent has confirmed counts it again. */
export const CONFIRMED_DEADLINE_MS = 15_000;

/**
 * The state of a campaign that an agent confirms: another one after each change of its content, of the rules of its
 * audience, and of how many those are.
 */
export async function stateOf(context: Context, campaign: Campaign): Promise<string> {
  const { sql, property } = context;
  const { text, params } = await audienceSql(context, campaign, 1);
  const [counted, content] = await Promise.all([
    sql.unsafe<{ count: number }[]>(
      `select count(*)::int as count from players p where p.property_id = $1 and ${text}`,
      [property.id, ...params] as never[],
    ),
    contentOf(context, campaign),
  ]);
  return `${content} ${counted[0]!.count}`;
}

/** The same without its audience's number, which a campaign that is planned has in its sends. */
export async function contentOf({ sql, property }: Context, campaign: Campaign): Promise<string> {
  const segments = [campaign.segment_id, ...campaign.exclude_segment_ids].filter((id) => id !== null);
  const templates = templatesOf(campaign).map(({ id }) => id);
  const [versions] = await sql<{ templates: string | null; segments: string | null }[]>`
    select (select string_agg(id || '.' || version, ' ' order by id) from templates
        where property_id = ${property.id} and id = any(${templates}::uuid[])) as templates,
      (select string_agg(id || '.' || version, ' ' order by id) from segments
        where property_id = ${property.id} and id = any(${segments}::uuid[])) as segments`;
  const { templates: content, segments: rules } = versions!;
  return `${campaign.id}.${campaign.version} templates ${content} audience ${rules}`;
}

/** Throws `precondition_failed` where the state is not the one that an agent has confirmed. */
export async function checkConfirmed({ confirmed }: Context, now: () => Promise<string>): Promise<void> {
  if (!confirmed || (await now()) === confirmed.bound) return;
  throw new Fault("precondition_failed", {
    message: "The campaign or its audience has changed since that preview.",
  });
}
