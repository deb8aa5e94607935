import type { Tenant } from "#runtime/operation/context.ts";
import type { Definition, Node, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";

interface HoursRule {
  country: string | null;
  state: string | null;
  channel: string[];
  open_local: string;
  close_local: string;
  action: "defer" | "skip";
}

/** Messages that come, by the node before them, at an hour that a quiet-hours rule closes. */
export async function hourWarnings(
  { sql, property }: Tenant,
  { draft_definition: definition, quiet_hours }: Pick<Journey, "draft_definition" | "quiet_hours">,
): Promise<Problem[]> {
  const messages = definition.nodes.filter((node): node is NodeOf<"message"> => node.type === "message");
  if (messages.length === 0) return [];
  const rules = await sql<HoursRule[]>`
    select country, state, channel, open_local, close_local, action from quiet_hours_rules
    where property_id = ${property.id} order by country nulls first, state nulls first, open_local`;
  return messages.flatMap((message) => {
    const own = rules.flatMap((rule) =>
      rule.channel.includes(message.config.channel)
        ? { ...rule, action: quiet_hours === "skip" ? quiet_hours : rule.action }
        : [],
    );
    return nodesBefore(definition, message.id).flatMap((node) => collision(message, node, own));
  });
}

function nodesBefore({ nodes, edges }: Definition, id: string): Node[] {
  const from = edges.flatMap((edge) => (edge.to === id ? [edge.from] : []));
  return nodes.filter((node) => from.includes(node.id));
}

function collision(message: NodeOf<"message">, node: Node, rules: HoursRule[]): Problem[] {
  const time = hourOf(node);
  const closed =
    time === null ? undefined : rules.find((rule) => time < rule.open_local || time >= rule.close_local);
  if (!closed) return [];
  const { country, state, open_local, close_local, action } = closed;
  const place = country === null ? "everywhere" : state === null ? `in ${country}` : `in ${country}-${state}`;
  const effect = action === "skip" ? "is not sent" : `waits until ${open_local}`;
  return [
    {
      node: message.id,
      field: "config",
      message: `It comes at ${time} behind ${node.id}, and ${message.config.channel} is open ${place} from ${open_local} to ${close_local}: the message ${effect}. Choose an open hour.`,
    },
  ];
}

/** The hour of the player's clock at which people leave a node; null where it sets none. */
function hourOf(node: Node): string | null {
  if (node.type === "time_window") return node.config.from;
  if (node.type !== "delay" || node.config.by === "duration") return null;
  return node.config.time;
}
