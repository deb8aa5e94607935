import { labelOf, words } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";

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
      return say().journeys.playersEnter(enteredBy(config));
    case "message":
      return say().journeys.nodeSends(
        config.channel === "email"
          ? say().journeys.anEmail
          : say().journeys.messageBy(labelOf(String(config.channel))),
        config.subject ? `: ${config.subject}` : "",
      );
    case "delay":
      return say().journeys.playersWait(delayWords(config));
    case "wait_until":
      return say().journeys.playersWaitFor(waitedFor(config), durationWords(config.timeout));
    case "time_window":
      return say().journeys.playersWaitForHoursThis;
    case "rate_limit":
      return say().journeys.playersWaitForTheirTurn;
    case "branch":
      return say().journeys.playersGoOnByFirst;
    case "random_split":
      return say().journeys.chanceSendsEachPlayerOne;
    case "goal":
      return say().journeys.playersHereHaveReachedGoal;
    case "exit":
      return say().journeys.theJourneyEndsHere;
    default:
      return `${words(type)}.`;
  }
}

function enteredBy(config: Record<string, unknown>): string {
  if (config.on === "event") return say().journeys.byEvent(String(config.event));
  if (config.on === "segment_enter") return say().journeys.whenTheyComeToFit;
  if (config.on === "segment_exit") return say().journeys.whenTheyLeaveSegment;
  return say().journeys.byOther(labelOf(String(config.on)));
}

function delayWords(config: Record<string, unknown>): string {
  if (config.by === "duration") return durationWords(config.duration);
  if (config.by === "until_local_time") return say().journeys.untilOwnClock(String(config.time));
  return say().journeys.untilDate(config.field ? labelOf(String(config.field)) : say().journeys.theirDate);
}

function waitedFor({ event }: Record<string, unknown>): string {
  const name = (event as { name?: string } | undefined)?.name;
  return name ? say().journeys.eventNamed(name) : say().journeys.theirCondition;
}

function durationWords(duration: unknown): string {
  const { amount, unit } = (duration ?? {}) as { amount?: number; unit?: string };
  const units: Readonly<Record<string, string>> = say().journeys.units;
  return amount === undefined ? say().journeys.aWhile : `${amount} ${units[unit ?? ""] ?? unit}`;
}
