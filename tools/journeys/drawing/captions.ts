import type { Node } from "#tools/journeys/definition/definition.ts";
import type { Duration } from "#tools/journeys/nodes/duration.ts";

const MOST = 31;

/** Two lines about a node: what kind of thing it is, and what it does. */
export function captionOf(node: Node): { title: string; detail: string } {
  return { title: node.name ?? node.id, detail: shortened(detailOf(node)) };
}

function detailOf(node: Node): string {
  switch (node.type) {
    case "trigger":
      return triggerDetail(node.config);
    case "message":
      return `${node.config.channel}: ${node.config.subject ?? node.config.body_text ?? "by template"}`;
    case "delay":
      return delayDetail(node.config);
    case "wait_until":
      return `wait for ${node.config.event?.name ?? "conditions"}, ${spanOf(node.config.timeout)} at most`;
    case "time_window":
      return `only ${node.config.from} to ${node.config.to}`;
    case "branch":
      return `branch by ${node.config.branches.map(({ conditions }) => conditions[0]?.field ?? "rules").join(", ")}`;
    case "random_split":
      return node.config.splits.map(({ label, percent }) => `${percent} % ${label}`).join(", ");
    case "rate_limit":
      return `${node.config.most} a ${node.config.per}`;
    case "update_player":
      return updateDetail(node.config);
    case "add_to_segment":
      return "add to a segment";
    case "grant_game_play":
      return "grant a play of a game";
    case "webhook":
      return `webhook ${node.config.name}`;
    case "goal":
      return "goal";
    case "exit":
      return `exit: ${node.config.reason.replaceAll("_", " ")}`;
  }
}

function triggerDetail(config: Extract<Node, { type: "trigger" }>["config"]): string {
  switch (config.on) {
    case "event":
      return `on the event ${config.event}`;
    case "segment_enter":
      return "on coming into a segment";
    case "segment_exit":
      return "on leaving a segment";
    case "schedule":
      return `at ${config.cron}`;
    case "date_field":
      return `yearly by ${config.field}`;
    case "game_play":
      return `on a play of ${config.game_id ? "a game" : "any game"}${config.outcome ? `: ${config.outcome}` : ""}`;
    case "inbound_sms":
      return config.contains ? `on a text with ${config.contains}` : "on a text";
    case "api":
      return "by enroll_players";
  }
}

function delayDetail(config: Extract<Node, { type: "delay" }>["config"]): string {
  if (config.by === "duration") return `wait ${spanOf(config.duration)}`;
  if (config.by === "local_time") return `wait until ${config.time}`;
  return `wait until ${config.field}`;
}

function updateDetail({
  tier,
  add_tags,
  remove_tags,
  custom,
}: Extract<Node, { type: "update_player" }>["config"]) {
  return [
    tier && `tier ${tier}`,
    add_tags && `tag ${add_tags.join(", ")}`,
    remove_tags && `untag ${remove_tags.join(", ")}`,
    custom && `set ${Object.keys(custom).join(", ")}`,
  ]
    .filter(Boolean)
    .join("; ");
}

function spanOf({ amount, unit }: Duration): string {
  return `${amount} ${amount === 1 ? unit.slice(0, -1) : unit}`;
}

function shortened(text: string): string {
  const letters = [...text.replace(/\s+/gu, " ")];
  return letters.length > MOST ? `${letters.slice(0, MOST - 1).join("")}…` : letters.join("");
}
