import { canonicalHash } from "#runtime/funnel/audit.ts";
import type { Context } from "#runtime/operation/context.ts";
import { insert } from "#runtime/operation/rows.ts";
import campaigns from "#tools/campaigns/campaigns.table.ts";
import type { Node, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import { filterPath } from "#tools/journeys/nodes/event-filter.ts";
import { secondsOf } from "#tools/journeys/nodes/rate-limit.ts";
import { messageValues } from "./messages.ts";
import { journeyReferences } from "./references.ts";

/**
 * Writes the next version of a locked journey: its definition, all that it refers to as it is now, and a campaign a
 * message. Answers its number.
 */
export async function writeVersion(context: Context, journey: Journey): Promise<number> {
  const { sql, property, call } = context;
  const { id, draft_definition: definition, reentry, goal, exit_conditions, ends_at, quiet_hours } = journey;
  const version = await nextVersion(context, id);
  const referred = await journeyReferences(context, { definition, goal, exit_conditions });
  const hash = canonicalHash({ definition, reentry, goal, exit_conditions, ends_at, quiet_hours }).toString(
    "hex",
  );
  const channels = [
    ...new Set(definition.nodes.flatMap((node) => (node.type === "message" ? [node.config.channel] : []))),
  ];
  const by = call.actor.type === "anonymous" ? null : call.actor.id;
  await sql`
    insert into journey_versions (property_id, journey_id, version, definition, definition_hash, reentry, goal,
      exit_conditions, ends_at, quiet_hours, referred, channels, published_by_type, published_by)
    select ${property.id}, ${id}, ${version}, ${definition}::jsonb, ${hash}, ${reentry}::jsonb, ${goal}::jsonb,
      ${exit_conditions}::jsonb, ${ends_at}::timestamptz, ${quiet_hours}, ${referred}::jsonb, ${channels}::text[], ${call.actor.type}, ${by}::uuid
    returning 1`;
  const places = [];
  for (const node of definition.nodes) {
    const campaign_id = node.type === "message" ? await writeCampaign(context, journey, node) : null;
    if (campaign_id || node.type === "wait_until") places.push({ node: node.id, campaign_id });
  }
  await sql`
    insert into journey_nodes (property_id, journey_id, version, node, campaign_id)
    select ${property.id}, ${id}, ${version}, node, campaign_id
    from json_to_recordset(${places}::json) n(node text, campaign_id uuid)
    returning 1`;
  await writeLimits(context, journey);
  await writeTriggers(context, journey, version);
  return version;
}

async function nextVersion({ sql, property }: Context, journeyId: string): Promise<number> {
  const [last] = await sql<[{ version: number }]>`
    select coalesce(max(version), 0) + 1 as version from journey_versions
    where property_id = ${property.id} and journey_id = ${journeyId}`;
  return last.version;
}

/** A campaign that sends from its first moment, and has no end. */
async function writeCampaign(context: Context, journey: Journey, node: NodeOf<"message">): Promise<string> {
  const values = await messageValues(context, journey, node);
  const status = journey.status === "paused" ? "paused" : "sending";
  const state = { status, started_at: "now", planned_at: "now" };
  const { id } = await insert(context, campaigns, { ...values, ...state });
  return id;
}

/** A rate limit of the new version holds for the people of all versions, and counts those who have passed. */
async function writeLimits({ sql, property }: Context, { id, draft_definition }: Journey): Promise<void> {
  const limits = draft_definition.nodes.flatMap((node) =>
    node.type === "rate_limit"
      ? [{ node: node.id, most: node.config.most, seconds: secondsOf(node.config) }]
      : [],
  );
  await sql`
    insert into journey_limits (property_id, journey_id, node, most, seconds)
    select ${property.id}, ${id}, node, most, seconds
    from json_to_recordset(${limits}::json) l(node text, most int, seconds int)
    order by node
    on conflict (property_id, journey_id, node) do update set most = excluded.most, seconds = excluded.seconds`;
}

interface TriggerRow {
  node: string;
  kind: string;
  name: string | null;
  filter: string | null;
  key_property: string | null;
}

/** The new version's ways in take the place of the old one's. The waits of versions with people inside stay. */
async function writeTriggers(context: Context, journey: Journey, version: number) {
  const { id, draft_definition, reentry, ends_at } = journey;
  const { sql, property } = context;
  const rows = draft_definition.nodes.flatMap((node) => triggerRow(node) ?? []);
  await sql`
    delete from journey_triggers t where t.property_id = ${property.id} and t.journey_id = ${id}
      and not (t.kind = 'wait' and exists (
        select from journey_enrollments e
        where e.property_id = ${property.id} and e.journey_id = ${id} and e.version = t.version
          and e.status = 'active'))`;
  await sql`
    insert into journey_triggers (property_id, journey_id, version, node, kind, name, filter, key_property, reentry,
      ends_at)
    select ${property.id}, ${id}, ${version}, node, kind, name, filter, key_property, ${reentry}::jsonb,
      case when kind <> 'wait' then ${ends_at}::timestamptz end
    from json_to_recordset(${rows}::json) t(node text, kind text, name text, filter text, key_property text)
    returning 1`;
}

/** Null for a node that no other record opens. */
function triggerRow(node: Node): TriggerRow | null {
  if (node.type === "wait_until" && node.config.event) {
    const { name, properties } = node.config.event;
    return { node: node.id, kind: "wait", name, filter: filterPath(properties), key_property: null };
  }
  if (node.type !== "trigger") return null;
  const { id, config } = node;
  const row = { node: id, kind: config.on, name: null, filter: null, key_property: null };
  switch (config.on) {
    case "event":
      return {
        ...row,
        name: config.event,
        filter: filterPath(config.properties),
        key_property: config.entry_key ?? null,
      };
    case "segment_enter":
    case "segment_exit":
      return { ...row, name: config.segment_id };
    case "date_field":
      return { ...row, name: config.field };
    case "game_play":
      return { ...row, name: config.game_id ?? null, filter: config.outcome ?? null };
    case "inbound_sms":
      return { ...row, filter: config.contains ?? null };
    default:
      return null;
  }
}
