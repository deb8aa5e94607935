import { isDeepStrictEqual } from "node:util";
import type { Context } from "#runtime/operation/context.ts";
import { isSameAddress } from "#tools/people/address.ts";
import { PLACES } from "#tools/people/places.ts";
import { contactIn, SHOWN_TEXTS } from "#tools/people/shown-texts.ts";
import { BY_CONSENT, mailGround, playersWords } from "#tools/people/words.ts";
import type { PlayerValues } from "./player.ts";

type Player = PlayerValues & { id: string };

/** A change of a player: the record as it is, and the values that it gets. */
interface Changing {
  current: Player;
  values: PlayerValues;
}

/** The players of a day to whom an agent may give other texts unasked: messages that were approved show them. */
const MOST_UNASKED = 25;

/** Asks about changes that lift a bar on messages to a player, or that put unapproved words before one. */
export async function askAboutWeakening(context: Context, changes: readonly Changing[]): Promise<void> {
  if (!context.ask) return;
  const about = [leavesHold, comesOfAge, movesMessages, movesHours, putsContacts];
  const listed = await leavesListed(changes, context);
  const asked: { id: string; words: Sentence[] }[] = [];
  for (const changing of changes) {
    const { id } = changing.current;
    const words = [
      ...about.flatMap((one) => one(changing, context)),
      ...(listed.get(id) ?? []),
      ...(await rewritesMany(changing, context)),
    ];
    if (words.length > 0) asked.push({ id, words });
  }
  // The players by their present names, which the change may take.
  const players = await playersWords(
    context,
    asked.map(({ id }) => id),
  );
  for (const { id, words } of asked) {
    context.ask({ sentences: () => words.map((word) => word(players.get(id)!)) });
  }
}

/** Asks about a new player whose texts show a web address or a phone number. */
export function askAboutNewTexts({ ask }: Context, values: PlayerValues): void {
  const words = contactWords(textsOf(values));
  if (words.length > 0) ask?.({ sentences: () => words.map((word) => word("the new player")) });
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

/** A consent is a person's. With another address in the record, messages under it go to the holder of that address. */
function movesMessages({ current, values: { email, phone } }: Changing, context: Context): Sentence[] {
  const isMoved = (next: unknown, last: unknown) => Boolean(next) && next !== last;
  const moved = [
    ...(isMoved(email, current.email) && isReached(current, context, "email")
      ? [{ channel: "mail", goes: "goes", to: email, by: mailGround(context.property) }]
      : []),
    ...(isMoved(phone, current.phone) && isReached(current, context, "sms", "voice")
      ? [{ channel: "texts and calls", goes: "go", to: phone, by: BY_CONSENT }]
      : []),
  ];
  return moved.map(
    ({ channel, goes, to, by }) =>
      (player) =>
        `From now on ${channel} to ${player} ${goes} to ${JSON.stringify(to)}, ${by}.`,
  );
}

/** Lists bar addresses: a person whose record has another one is barred by them no more. */
async function leavesListed(
  changes: readonly Changing[],
  { sql, property }: Context,
): Promise<Map<string, Sentence[]>> {
  const leaves = (next: unknown, last: unknown) =>
    next !== undefined && Boolean(last) && !isSameAddress(next, last);
  const left = changes
    .map(({ current, values: { email, phone } }) => ({
      id: current.id,
      email: leaves(email, current.email),
      phone: leaves(phone, current.phone),
    }))
    .filter(({ email, phone }) => email || phone);
  if (left.length === 0) return new Map();
  const listed = await sql<{ id: string; kind: string; lists: string }[]>`
    with left_by as (
      select p.id, a.kind, a.hash from jsonb_to_recordset(${left}::jsonb) as l(id uuid, email boolean, phone boolean)
        join players p on p.property_id = ${property.id} and p.id = l.id
        cross join lateral (values ('email', p.email_hash, l.email), ('phone', p.phone_hash, l.phone))
          as a(kind, hash, leaves)
      where a.leaves
    ), lists as (
      select l.id, l.kind, 'the do-not-call list ' || d.list as name
      from left_by l join dnc_entries d on d.property_id = ${property.id} and d.phone_hash = l.hash
      where d.expires_at is null or d.expires_at > now()
      union
      select l.id, l.kind, 'the suppressions (' || s.reason || ', ' || s.channel || ')'
      from left_by l join suppressions s on s.property_id = ${property.id} and s.address_hash = l.hash
      where s.lifted_at is null and (s.expires_at is null or s.expires_at > now())
    )
    select id, kind, string_agg(name, ' and ' order by name) as lists from lists
    group by id, kind order by id, kind`;
  const sentences = Map.groupBy(listed, ({ id }) => id);
  return new Map(
    [...sentences].map(([id, rows]) => [
      id,
      rows.map(
        ({ kind, lists }) =>
          (player) =>
            `This lifts a bar: the ${kind} that ${player} has now is on ${lists}. Without it ${player} may be written to again.`,
      ),
    ]),
  );
}

/** Quiet hours go by the player's place. */
function movesHours({ current, values }: Changing, context: Context): Sentence[] {
  if (!isReached(current, context, "email", "sms", "voice", "push")) return [];
  return PLACES.filter((name) => isChanged({ current, values }, name)).map((name) => (player) => {
    const [before, after] = [current[name], values[name]].map((value) => JSON.stringify(value ?? null));
    return `From now on the quiet hours of ${player} go by another place: ${name} ${before} becomes ${after}.`;
  });
}

function putsContacts(changing: Changing): Sentence[] {
  return contactWords(changedTexts(changing));
}

function contactWords(texts: [name: string, text: unknown][]): Sentence[] {
  return texts.flatMap(([name, text]) => {
    const contact = contactIn(text);
    if (!contact) return [];
    return [
      (player: string) => `Messages that show ${name} show ${player} ${contact}: ${JSON.stringify(text)}.`,
    ];
  });
}

/** One text after another, an agent could rewrite a whole campaign that was approved. */
async function rewritesMany(changing: Changing, context: Context): Promise<Sentence[]> {
  const texts = changedTexts(changing);
  const { sql, property, call } = context;
  if (texts.length === 0 || call.transport !== "mcp") return [];
  const names = [...SHOWN_TEXTS, "custom"];
  const [others] = await sql<[{ count: number }]>`
    select count(distinct entity_id)::int as count from audit_logs
    where property_id = ${property.id} and created_at > now() - interval '24 hours'
      and actor_id = ${call.actor.id} and action = 'update_player'
      and entity_id <> ${changing.current.id} and jsonb_exists_any(diff, ${names}::text[])`;
  if (others.count < MOST_UNASKED) return [];
  return texts.map(
    ([name, text]) =>
      (player) =>
        `${MOST_UNASKED} players and more have got other texts from this caller within a day. Messages that show ${name} show ${player} ${JSON.stringify(text)}.`,
  );
}

function changedTexts({ current, values }: Changing): [name: string, text: unknown][] {
  const before = new Map(textsOf(current));
  return textsOf(values).filter(([name, text]) => !isDeepStrictEqual(text, before.get(name) ?? null));
}

/** The texts of a player by their names, without those that are missing. */
function textsOf(values: PlayerValues): [name: string, text: unknown][] {
  const custom = Object.entries((values.custom ?? {}) as Record<string, unknown>).filter(
    ([, value]) => typeof value !== "number" && typeof value !== "boolean",
  );
  return [
    ...SHOWN_TEXTS.map((name): [string, unknown] => [name, values[name]]),
    ...custom.map(([key, value]): [string, unknown] => [`custom.${key}`, value]),
  ].filter(([, text]) => text !== undefined && text !== null) as [string, unknown][];
}

function isChanged({ current, values }: Changing, name: (typeof PLACES)[number]) {
  return values[name] !== undefined && (values[name] ?? null) !== (current[name] ?? null);
}

/** Whether messages by one of the channels may go to the player, as far as their consents say. */
function isReached({ consents }: Player, { property }: Context, ...channels: string[]): boolean {
  const given = consents as Record<string, unknown>;
  return channels.some((channel) =>
    channel === "email" && property.email_consent_mode === "opt_out"
      ? given[channel] !== false
      : given[channel] === true,
  );
}
