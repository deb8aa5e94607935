import { words } from "#transports/console/values.ts";

/** A node of a journey's definition. */
export interface PlacedNode {
  id: string;
  type: string;
  name?: string;
  config: Record<string, unknown>;
}

/** For what a player waits at a node, or what the node does, as one sentence. */
export function nodeWords({ type, config }: PlacedNode): string {
  switch (type) {
    case "trigger":
      return `Players enter ${enteredBy(config)}.`;
    case "message":
      return `Sends ${config.channel === "email" ? "an email" : `a message by ${config.channel}`}${config.subject ? `: ${config.subject}` : ""}.`;
    case "delay":
      return `Players wait ${delayWords(config)}.`;
    case "wait_until":
      return `Players wait for ${waitedFor(config)}, at most ${durationWords(config.timeout)}.`;
    case "time_window":
      return "Players wait for the hours of this window.";
    case "rate_limit":
      return "Players wait for their turn: so many a time go on.";
    case "branch":
      return "Players go on by the first condition that they fit.";
    case "random_split":
      return "Chance sends each player one of several ways.";
    case "goal":
      return "Players here have reached the goal.";
    case "exit":
      return "The journey ends here.";
    default:
      return `${words(type)}.`;
  }
}

function enteredBy(config: Record<string, unknown>): string {
  if (config.on === "event") return `by the event ${config.event}`;
  if (config.on === "segment_enter") return "when they come to fit the segment";
  if (config.on === "segment_exit") return "when they leave the segment";
  return `by ${String(config.on).replaceAll("_", " ")}`;
}

function delayWords(config: Record<string, unknown>): string {
  if (config.by === "duration") return durationWords(config.duration);
  if (config.by === "local_time") return `until ${config.time} of their own clock`;
  return `until ${String(config.field ?? "their date")}`;
}

function waitedFor({ event }: Record<string, unknown>): string {
  const name = (event as { name?: string } | undefined)?.name;
  return name ? `the event ${name}` : "their condition";
}

function durationWords(duration: unknown): string {
  const { amount, unit } = (duration ?? {}) as { amount?: number; unit?: string };
  return amount === undefined ? "a while" : `${amount} ${unit}`;
}
