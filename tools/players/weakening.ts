import { isDeepStrictEqual } from "node:util";
import type { Context } from "#runtime/operation/context.ts";
import { playerWords } from "#tools/people/words.ts";
import type { PlayerValues } from "./player.ts";

type Player = PlayerValues & { id: string };

/** A change of a player: the record as it is, and the values that it gets. */
interface Changing {
  current: Player;
  values: PlayerValues;
}

const PLACES = ["timezone", "country", "state", "postal_code"] as const;
const READ = ["first_name", "last_name", "tier"] as const;

/** A scheme, "www.", or a name with a top-level domain: mail programs make links of these by themselves. */
const WEB_ADDRESS = /:\/\/|www\.|[a-z0-9]\.[a-z]{2,}(?:[/\s]|$)/i;

/** Asks about a change by which a player may be written to who may not be now, or reads words that nobody approved. */
export async function askAboutWeakening(context: Context, changing: Changing): Promise<void> {
  if (!context.ask) return;
  const about = [leavesHold, comesOfAge, movesMessages, movesHours, putsLinks];
  const words = about.flatMap((one) => one(changing, context));
  if (words.length === 0) return;
  const player = await playerWords(context, changing.current.id);
  context.ask({ sentences: () => words.map((word) => word(player)) });
}

type Sentence = (player: string) => string;

function leavesHold({ current, values: { status } }: Changing): Sentence[] {
  if (current.status !== "vip_hold" || !status || status === "vip_hold") return [];
  return [
    (player) =>
      `This lifts a bar: ${player} leaves vip_hold, becomes ${status}, and may be written to again.`,
  ];
}

function comesOfAge({ current, values }: Changing, { property, now }: Context): Sentence[] {
  if (values.birth_date === undefined) return [];
  const youngest = new Date(now());
  youngest.setUTCFullYear(youngest.getUTCFullYear() - property.min_age);
  const isYoung = (birth: unknown) =>
    typeof birth === "string" && birth > youngest.toISOString().slice(0, 10);
  if (!isYoung(current.birth_date) || isYoung(values.birth_date)) return [];
  const [before, after] = [current.birth_date, values.birth_date ?? "unknown"];
  return [
    (player) =>
      `This lifts a bar: the birth date of ${player} was ${before}, under ${property.min_age}, and becomes ${after}.`,
  ];
}

/** A consent is a person's. With another address in the record, messages under it go to whoever has that address. */
function movesMessages({ current, values: { email, phone } }: Changing): Sentence[] {
  const isMoved = (next: unknown, last: unknown) => Boolean(next) && next !== last;
  const moved = [
    ...(isMoved(email, current.email) && hasAgreed(current, "email") ? [{ channel: "mail", to: email }] : []),
    ...(isMoved(phone, current.phone) && hasAgreed(current, "sms", "voice")
      ? [{ channel: "texts and calls", to: phone }]
      : []),
  ];
  return moved.map(
    ({ channel, to }) =>
      (player) =>
        `From now on ${channel} to ${player} goes to ${JSON.stringify(to)}, on the consent that they have given.`,
  );
}

/** Quiet hours go by the player's place. */
function movesHours({ current, values }: Changing): Sentence[] {
  if (!hasAgreed(current, "email", "sms", "voice", "push")) return [];
  return PLACES.filter((name) => isChanged({ current, values }, name)).map((name) => (player) => {
    const [before, after] = [current[name], values[name]].map((value) => JSON.stringify(value ?? null));
    return `From now on the quiet hours of ${player} go by another place: ${name} ${before} becomes ${after}.`;
  });
}

function putsLinks({ current, values }: Changing): Sentence[] {
  const custom = Object.entries(values.custom ?? {}).filter(
    ([key, value]) => !isDeepStrictEqual(value, (current.custom as Record<string, unknown>)[key]),
  );
  const texts = [
    ...READ.flatMap((name) => (isChanged({ current, values }, name) ? [[name, values[name]] as const] : [])),
    ...custom.map(([key, value]) => [`custom.${key}`, value] as const),
  ];
  return texts
    .filter(([, text]) => WEB_ADDRESS.test(JSON.stringify(text)))
    .map(
      ([name, text]) =>
        (player) =>
          `Messages that show ${name} show ${player} a web address: ${JSON.stringify(text)}.`,
    );
}

function isChanged({ current, values }: Changing, name: (typeof PLACES)[number] | (typeof READ)[number]) {
  return values[name] !== undefined && (values[name] ?? null) !== (current[name] ?? null);
}

function hasAgreed({ consents }: Player, ...channels: string[]): boolean {
  return channels.some((channel) => (consents as Record<string, unknown>)[channel] === true);
}
