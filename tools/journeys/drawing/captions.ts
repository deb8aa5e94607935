import type { Node } from "#tools/journeys/definition/definition.ts";
import type { Duration } from "#tools/journeys/nodes/duration.ts";
import type { PictureWords } from "./words.ts";

const MOST = 31;

/** Two lines about a node: what kind of thing it is, and what it does. */
export function captionOf(node: Node, words: PictureWords): { title: string; detail: string } {
  return { title: node.name ?? node.id, detail: shortened(detailOf(node, words)) };
}

function detailOf(node: Node, words: PictureWords): string {
  switch (node.type) {
    case "trigger":
      return triggerDetail(node.config, words);
    case "message":
      return `${words.channels[node.config.channel] ?? node.config.channel}: ${node.config.subject ?? node.config.body_text ?? words.byTemplate}`;
    case "delay":
      return delayDetail(node.config, words);
    case "wait_until":
      return words.waitFor(node.config.event?.name ?? words.conditions, spanOf(node.config.timeout, words));
    case "time_window":
      return words.onlyBetween(node.config.from, node.config.to);
    case "branch":
      return words.branchBy(
        node.config.branches.map(({ conditions }) => conditions[0]?.field ?? words.rules).join(", "),
      );
    case "random_split":
      return node.config.splits.map(({ label, percent }) => `${percent} % ${label}`).join(", ");
    case "rate_limit":
      return words.rate(node.config.most, node.config.per);
    case "update_player":
      return updateDetail(node.config, words);
    case "add_to_segment":
      return words.addToSegment;
    case "grant_game_play":
      return words.grantPlay;
    case "webhook":
      return words.webhook(node.config.name);
    case "goal":
      return words.goal;
    case "exit":
      return words.exit(node.config.reason.replaceAll("_", " "));
  }
}

function triggerDetail(config: Extract<Node, { type: "trigger" }>["config"], words: PictureWords): string {
  switch (config.on) {
    case "event":
      return words.onEvent(config.event);
    case "segment_enter":
      return words.onEntering;
    case "segment_exit":
      return words.onLeaving;
    case "schedule":
      return words.at(config.cron);
    case "date_field":
      return words.yearlyBy(config.field);
    case "game_play":
      return words.onPlay(Boolean(config.game_id), config.outcome ? `: ${config.outcome}` : "");
    case "inbound_sms":
      return words.onText(config.contains);
    case "api":
      return words.byCall;
  }
}

function delayDetail(config: Extract<Node, { type: "delay" }>["config"], words: PictureWords): string {
  if (config.by === "duration") return words.wait(spanOf(config.duration, words));
  if (config.by === "until_local_time") return words.waitUntil(config.time);
  return words.waitUntil(config.field);
}

function updateDetail(
  { tier, add_tags, remove_tags, custom }: Extract<Node, { type: "update_player" }>["config"],
  words: PictureWords,
): string {
  return [
    tier && words.tier(tier),
    add_tags && words.tag(add_tags.join(", ")),
    remove_tags && words.untag(remove_tags.join(", ")),
    custom && words.set(Object.keys(custom).join(", ")),
  ]
    .filter(Boolean)
    .join("; ");
}

function spanOf({ amount, unit }: Duration, { units }: PictureWords): string {
  const one = units[unit] ?? unit;
  return `${amount} ${amount === 1 ? one : `${one}s`}`;
}

function shortened(text: string): string {
  const letters = [...text.replace(/\s+/gu, " ")];
  return letters.length > MOST ? `${letters.slice(0, MOST - 1).join("")}…` : letters.join("");
}
