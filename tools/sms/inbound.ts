import { z } from "zod";
import { storable } from "#db/text.ts";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { ListedAddress } from "#tools/compliance/listed-address.ts";
import { revoke, revokedWith, suppressRevoked } from "#tools/consent/revoke.ts";
import { enrollByText } from "#tools/enrollments/enroll.ts";
import { addressHash, reportedPhone } from "#tools/people/address.ts";
import { type KeywordMatch, keywordsOf, readText } from "./keywords.ts";
import { hold, settleReviews, UNREAD } from "./reviews.ts";
import { resume } from "./start.ts";

export type InboundNotice = Extract<Notice, { kind: "inbound" }>;

/** The sender of the text to us: a provider by name, and its record if there is one. */
export interface Source {
  provider: string;
  providerId: string | null;
}

export interface Inbound {
  id: string;
  action: KeywordMatch["action"];
  /** The player who has the number, if there is one. */
  playerId: string | null;
  /** In the database's output format. */
  received_at: string;
}

/** The job that sends a reply, in the form for `enqueue`. The providers are a floor above this domain. */
export const SEND_SMS_REPLY = {
  name: "send_sms_reply",
  attempts: 10,
  input: z.object({ messageId: z.uuid() }),
};

const MOST_CHARACTERS = 10_000;
const REPLIES_AN_HOUR = 3;

/**
 * Stores an inbound text and carries out its request, in the caller's transaction. STOP revokes consent, START lifts an
 * earlier STOP, HELP gets an answer. An unclear STOP holds sends to the number until a person has reviewed it. Null for
 * a text that was received before.
 */
export async function receiveInbound(
  context: Context,
  notice: InboundNotice,
  source: Source,
): Promise<Inbound | null> {
  const sender = senderOf(context, notice.from);
  await lockNumber(context, sender);
  const reading = readAs(notice, readText(notice.text, await keywordsOf(context)));
  const inbound = await store(context, { notice, source, sender, reading });
  if (!inbound) return null;
  const wantsReply = await act(asPlayer(context), inbound, sender);
  // A text that asks for something of the service itself opens no journey.
  if (inbound.playerId && inbound.action === "none") {
    await enrollByText(context, { messageId: inbound.id, playerId: inbound.playerId, text: notice.text });
  }
  if (wantsReply && notice.optOut === undefined && (await mayReply(context, sender))) {
    await context.sql`
      update inbound_messages set reply_status = 'queued'
      where property_id = ${context.property.id} and id = ${inbound.id}`;
    context.enqueue(SEND_SMS_REPLY, { messageId: inbound.id });
  }
  return inbound;
}

/**
 * Suppresses the number of a queued text that requests a stop, or may request one. The text itself must still be
 * processed.
 */
export async function suppressSender(context: Context, notice: InboundNotice): Promise<void> {
  const sender = senderOf(context, notice.from);
  const { action } = readAs(notice, readText(notice.text, await keywordsOf(context)));
  if (action === "review") await hold(context, sender, { source: UNREAD });
  if (action !== "stop") return;
  const channels = revokedWith(context, "sms");
  await suppressRevoked(context, { address: sender, channels, method: "stop_keyword", source: UNREAD });
}

/** The vendor has already applied its own list; a STOP of ours stays, also where the vendor has lifted its own. */
function readAs({ optOut }: InboundNotice, reading: KeywordMatch): KeywordMatch {
  if (optOut === undefined || reading.action === "stop") return reading;
  return { action: optOut, matched: reading.action === optOut ? reading.matched : null };
}

/** A sender that is no phone number, such as a short code, keeps the given form. */
function senderOf({ property }: Context, from: string): ListedAddress {
  const given = storable(from, 100);
  const address = reportedPhone(given, property.default_country) ?? given;
  return { address, hash: addressHash(property.pepper, address) };
}

/** Texts of one number are processed one after another, and not while a person decides its reviews. */
export async function lockNumber(
  { sql, property }: Context,
  { hash }: Pick<ListedAddress, "hash">,
): Promise<void> {
  const number = `sms ${property.id} ${hash.toString("hex")}`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${number}, 0))`;
}

async function store(
  { sql, property, emit }: Context,
  {
    notice,
    source,
    sender,
    reading,
  }: { notice: InboundNotice; source: Source; sender: ListedAddress; reading: KeywordMatch },
): Promise<Inbound | null> {
  const [row] = await sql<(Inbound & { player_id: string | null; needs_review: boolean })[]>`
    with stored as (
      insert into inbound_messages (property_id, provider, provider_id, provider_message_id, player_id, sender,
        sender_hash, recipient, text, action, matched, needs_review, received_at)
      select ${property.id}, ${source.provider}, ${source.providerId}, ${notice.providerMessageId ?? notice.eventId},
        (select id from players where property_id = ${property.id} and phone_hash = ${sender.hash}
          and deleted_at is null order by created_at, id limit 1),
        ${sender.address}, ${sender.hash}, ${storable(notice.to, 100)}, ${storable(notice.text, MOST_CHARACTERS)},
        ${reading.action}, ${reading.matched?.text ?? null}, ${reading.action === "review"},
        least(${notice.at}::timestamptz, now())
      on conflict (property_id, provider, provider_message_id) do nothing
      returning id, player_id, action, needs_review, received_at
    )
    select id, player_id, action, needs_review, to_json(received_at) #>> '{}' as received_at from stored`;
  if (!row) return null;
  emit("player.message_received", { ...row, channel: "sms" });
  const { id, action, received_at, player_id } = row;
  return { id, action, received_at, playerId: player_id };
}

/** The ledger names the player as the actor, not the job. */
function asPlayer(context: Context): Context {
  return { ...context, call: { ...context.call, actor: { type: "anonymous", id: null } } };
}

/** Carries out the text's request. Answers whether it needs a reply. */
async function act(
  context: Context,
  { id, action, received_at }: Inbound,
  sender: ListedAddress,
): Promise<boolean> {
  switch (action) {
    case "stop": {
      const isNew = !(await hasStopped(context, sender));
      await revoke(context, {
        address: sender,
        channels: revokedWith(context, "sms"),
        method: "stop_keyword",
        source: "sms",
        requestedAt: received_at,
      });
      await settleReviews(context, sender, "revoke", null);
      return isNew;
    }
    case "start":
      return resume(context, sender, received_at);
    case "review":
      await hold(context, sender, { source: "sms", messageId: id });
      return false;
    default:
      return action === "help";
  }
}

/** A number that has already stopped gets no second confirmation. A suppression from a queued text does not count. */
async function hasStopped({ sql, property }: Context, { hash }: ListedAddress): Promise<boolean> {
  const [row] = await sql<{ stopped: boolean }[]>`
    with stops as (
      select id, source from suppressions
      where property_id = ${property.id} and address_hash = ${hash} and reason = 'stop_keyword' and lifted_at is null
        and channel = 'sms'
    ), read as (
      update suppressions set source = 'sms' where property_id = ${property.id} and address_hash = ${hash}
        and reason = 'stop_keyword' and lifted_at is null and source = ${UNREAD}
    )
    select exists (select from stops where source is distinct from ${UNREAD}) as stopped`;
  return row!.stopped;
}

/** Two machines that answer each other must stop at some time. */
async function mayReply({ sql, property }: Context, { hash }: ListedAddress): Promise<boolean> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from inbound_messages
    where property_id = ${property.id} and sender_hash = ${hash} and reply_status is not null
      and received_at > now() - interval '1 hour'`;
  return row!.count < REPLIES_AN_HOUR;
}
