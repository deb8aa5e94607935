import { counted } from "#runtime/counted.ts";
import type { Context } from "#runtime/operation/context.ts";
import { fieldWords } from "#runtime/operation/record-words.ts";
import { quoted } from "#runtime/visible-text.ts";
import { bodyWords, type MessageParts, pieceWords } from "#tools/campaigns/content/message-words.ts";
import { otherWords } from "#tools/campaigns/content/other-words.ts";
import type { Definition, Node, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";
import type { OnPublish } from "#tools/journeys/journey/columns.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import type { Inside } from "./people-inside.ts";

/** The facts for a person's consent to publish a journey. `shown`: the parts of each message, by its node. */
export function publishingWords(
  { name, status, draft_definition: { nodes }, reentry, quiet_hours, ends_at }: Journey,
  {
    inside,
    onPublish,
    backfill,
    shown,
  }: {
    inside: Inside;
    onPublish: OnPublish;
    backfill: boolean;
    shown: ReadonlyMap<string, MessageParts>;
  },
): string[] {
  const messages = nodes.flatMap((node) =>
    node.type === "message" ? [messageWords(node, shown.get(node.id))] : [],
  );
  const triggers = nodes.flatMap((node) =>
    node.type === "trigger" ? [triggerWords(node, reentry.mode)] : [],
  );
  return [
    `The journey ${quoted(name)} ${status === "paused" ? "stays paused until resume_journey" : "goes live now"}.`,
    ...triggers,
    backfill
      ? "Players who fit its segments already enter at once."
      : "Nobody enters who fits its segments already.",
    reentryWords(reentry.mode),
    ...(ends_at === null ? [] : [`It ends for everybody at ${ends_at}.`]),
    messages.length === 0 ? "It sends no message." : `It sends ${messages.join(", ")}.`,
    ...(quiet_hours === "skip" && messages.length > 0
      ? ["A message that comes at closed hours is dropped."]
      : []),
    ...[...shown].flatMap(([id, parts]) => bodiesOf(parts, `The text of ${id}`)),
    ...nodes.flatMap((node) => (node.type === "message" ? [...senderWords(node), ...switchedOff(node)] : [])),
    ...insideWords(inside, onPublish),
  ];
}

/** The words of a message as a template, and those that its HTML hides until its tags are filled. */
function bodiesOf(parts: MessageParts, named: string): string[] {
  const { subject, preheader, html, text, inbox } = parts;
  // The whole, which a person may ask for: the words shown are cut.
  const read = [subject, preheader, ...(html ? pieceWords(html) : []), text, inbox];
  return [
    ...bodyWords(parts, named),
    ...otherWords([{ subject, html, text, script: null }], {
      words: read.map((one) => JSON.stringify(one ?? "")),
      values: null,
    }),
  ];
}

/** The facts for a person's consent about the nodes that change something beside sending messages. */
export async function actionWords(context: Context, { nodes }: Definition): Promise<string[]> {
  const words: string[] = [];
  for (const node of nodes) words.push(...(await actionOf(context, node)));
  return words;
}

/** The lists that a journey puts its players on. */
export function listsOf({ nodes }: Definition): string[] {
  return nodes.flatMap((node) => (node.type === "add_to_segment" ? [node.config.segment_id] : []));
}

async function actionOf({ sql, property }: Context, node: Node): Promise<string[]> {
  switch (node.type) {
    case "update_player":
      return [`${node.id} changes the player: ${fieldWords(node.config)}.`];
    case "webhook":
      return [`${node.id} tells the property's endpoints of the player, as ${quoted(node.config.name)}.`];
    case "add_to_segment": {
      const [list] = await sql<{ name: string }[]>`
        select name from segments where property_id = ${property.id} and id = ${node.config.segment_id}`;
      return [`${node.id} puts the player on the list ${quoted(list!.name)}.`];
    }
    case "grant_game_play": {
      const [game] = await sql<{ name: string }[]>`
        select name from games where property_id = ${property.id} and id = ${node.config.game_id}`;
      return [`${node.id} gives the player a ticket for the game ${quoted(game!.name)}.`];
    }
    default:
      return [];
  }
}

/** A person reads no more. */
const MOST_WARNINGS = 5;

/** The warnings of a draft, which do not prevent its publishing. */
export function warningWords(warnings: readonly Problem[]): string[] {
  const shown = warnings.slice(0, MOST_WARNINGS).map(({ node, message }) => {
    return `Warning${node === null ? "" : ` at ${node}`}: ${message}`;
  });
  const more = warnings.length - shown.length;
  return more > 0 ? [...shown, `${more} more warnings: validate_journey names them.`] : shown;
}

function messageWords({ id, config }: NodeOf<"message">, parts: MessageParts | undefined): string {
  const begins = parts?.subject ?? (config.channel === "voice" ? null : parts?.text);
  return `the ${config.channel} ${id}${begins ? ` ${quoted(begins)}` : ""}`;
}

/** The sender that a message names in place of the property's. */
function senderWords({
  id,
  config: { channel, from_name, from_email, reply_to },
}: NodeOf<"message">): string[] {
  const named = Object.entries({ from_name, from_email, reply_to }).filter(([, value]) => value);
  if (channel !== "email" || named.length === 0) return [];
  return [`The sender of ${id}: ${fieldWords(Object.fromEntries(named))}.`];
}

function switchedOff({ id, config }: NodeOf<"message">): string[] {
  return [
    ...(config.ignore_frequency_cap
      ? [`Frequency rules do not hold back ${id} (ignore_frequency_cap).`]
      : []),
    ...(config.is_transactional
      ? [`Frequency rules neither hold back nor count ${id} (is_transactional).`]
      : []),
  ];
}

function triggerWords({ config }: NodeOf<"trigger">, reentry: Journey["reentry"]["mode"]): string {
  switch (config.on) {
    case "event":
      return `A player enters with the event ${quoted(config.event)}.`;
    case "segment_enter":
      return "A player enters who comes into its segment.";
    case "segment_exit":
      return "A player enters who leaves its segment.";
    case "schedule":
      return `The players of its segment enter at ${config.cron}.`;
    case "date_field":
      return `A player enters ${reentry === "never" ? "" : "each year "}${dayWords(config)}, at ${config.time}.`;
    case "game_play":
      return `A player enters who plays ${config.game_id ? "its game" : "a game"}${config.outcome ? ` and ${config.outcome === "win" ? "wins" : "wins nothing"}` : ""}.`;
    case "inbound_sms":
      return "A player enters who sends a text.";
    case "api":
      return "Players enter by enroll_players.";
  }
}

function dayWords({ field, offset_days: days }: { field: string; offset_days: number }): string {
  if (days === 0) return `by ${field}`;
  return `${counted(Math.abs(days), "day")} ${days < 0 ? "before" : "after"} ${field}`;
}

function reentryWords(mode: Journey["reentry"]["mode"]): string {
  if (mode === "never") return "Nobody enters twice.";
  return mode === "always"
    ? "A player who has left may enter again at once."
    : "A player who has left may enter again.";
}

function insideWords({ finish, move, exit }: Inside, onPublish: OnPublish): string[] {
  if (finish + move + exit === 0) return [];
  if (onPublish === "finish_old")
    return [
      `${counted(finish, "player inside finishes", "players inside finish")} the version that they entered.`,
    ];
  if (onPublish === "exit_old")
    return [`${counted(exit, "player inside leaves", "players inside leave")} the journey.`];
  return [
    `Of the players inside, ${counted(move, "goes", "go")} on in the new version and ${counted(exit, "leaves", "leave")} the journey.`,
  ];
}
