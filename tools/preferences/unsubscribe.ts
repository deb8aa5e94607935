import { z } from "zod";
import { one } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import {
  announceSuppressed,
  WRITTEN,
  type WrittenSuppression,
} from "#tools/compliance/suppression-events.ts";
import { asPlayer } from "#tools/consent/player-grant.ts";
import { revoke } from "#tools/consent/revoke.ts";

const METHODS = ["one_click", "preference_page"] as const;

/** The page of a message's link calls it; the link's token names the property and the send. */
export default tool({
  name: "unsubscribe",
  title: "Unsubscribe a recipient",
  description:
    "Unsubscribes the recipient of one message: consent for email is revoked, the address is suppressed and pending sends are cancelled. Safe to repeat.",
  scope: "write",
  effect: "change",
  access: "operator",
  input: {
    sendId: z.uuid().describe("The campaign send that the message belongs to"),
    method: z.enum(METHODS).default("one_click").describe("How the person unsubscribed"),
  },
  output: z.object({
    success: z.literal(true),
    erased: z
      .boolean()
      .describe(
        "The recipient's data was erased, and the erasure barred the address; nothing is left to record",
      ),
  }),
  faults: ["not_found"],
  handler: (context, input) =>
    unsubscribe(input.method === "preference_page" ? asPlayer(context) : context, input),
});

interface UnsubscribedSend {
  campaign_id: string | null;
  player_id: string | null;
  address_hash: Buffer | null;
  unsubscribed_at: string | null;
  /** The address; null when no player has it now. */
  address: string | null;
  /** The player has another address by now. */
  has_moved: boolean;
}

/** Takes the address of one send off the list, for every player who has it. */
export async function unsubscribe(
  context: Context,
  { sendId, method }: { sendId: string; method: (typeof METHODS)[number] },
): Promise<{ success: true; erased: boolean }> {
  const recipient = await findRecipient(context, sendId);
  const erased = await isErased(context, sendId);
  const { address, address_hash: hash, player_id: playerId, has_moved } = recipient;
  const revocation = { channels: ["email" as const], method, source: "unsubscribe_link" };
  if (address !== null && hash !== null) await revoke(context, { address: { address, hash }, ...revocation });
  else if (hash !== null) await suppressHash(context, hash);
  if (has_moved && playerId !== null) await revoke(context, { playerId, ...revocation });
  if (recipient.unsubscribed_at === null && !erased) await mark(context, sendId, recipient);
  context.audit({ entity: "campaign_sends", entityId: sendId, ...(erased && { diff: { erased } }) });
  return { success: true, erased };
}

/**
 * Notes that the recipient of one message refuses again: a consent from before that lifts nothing. Answers false where
 * that is more than a repetition, so `unsubscribe` must follow. The ledgers get no row, however often a link is used.
 */
export async function refuseAgain(context: Context, sendId: string): Promise<boolean> {
  const { sql, property } = context;
  await sql`
    with standing as materialized (
      select x.id from campaign_sends s
      left join players p on p.property_id = ${property.id} and p.id = s.player_id
      join suppressions x on x.property_id = ${property.id}
        and (x.address_hash = s.address_hash or x.address_hash = p.email_hash or x.player_id = p.id)
      where s.property_id = ${property.id} and s.id = ${sendId} and x.channel = 'email'
        and x.reason = 'unsubscribed' and x.lifted_at is null and x.expires_at is null
      order by x.address_hash for update of x)
    update suppressions x set updated_at = now() from standing
    where x.property_id = ${property.id} and x.id = standing.id`;
  // Behind the locks: a consent that lifts one of them has ended by now.
  return isUnsubscribed(context, sendId);
}

/**
 * Whether unsubscribing this send would add nothing. Then the send is marked, the address is suppressed, and every
 * concerned player last refused email. Those are the players with the address, and the send's own.
 */
async function isUnsubscribed({ sql, property }: Tenant, sendId: string): Promise<boolean> {
  const isRefused = sql`coalesce(p.consents -> 'email' = 'false', false) and exists (
    select from suppressions y where y.property_id = ${property.id} and y.lifted_at is null and y.expires_at is null
      and y.channel = 'email' and y.reason = 'unsubscribed'
      and (y.address_hash = p.email_hash or p.email_hash is null and y.player_id = p.id))`;
  const [row] = await sql<{ done: boolean }[]>`
    select s.unsubscribed_at is not null
      and (s.address_hash is null or exists (
        select from suppressions x where x.property_id = ${property.id} and x.address_hash = s.address_hash
          and x.channel = 'email' and x.reason = 'unsubscribed' and x.lifted_at is null and x.expires_at is null))
      and not exists (
        select from players p where p.property_id = ${property.id} and p.email_hash = s.address_hash
          and not (${isRefused}))
      and not exists (
        select from players p where p.property_id = ${property.id} and p.id = s.player_id and p.deleted_at is null
          and not (${isRefused})) as done
    from campaign_sends s
    where s.property_id = ${property.id} and s.id = ${sendId}`;
  return row?.done ?? false;
}

/** Whether an erasure has removed the recipient and the address from the send. */
export async function isErased({ sql, property }: Tenant, sendId: string): Promise<boolean> {
  const found = await sql`
    select from campaign_sends
    where property_id = ${property.id} and id = ${sendId} and player_id is null and anon_id is not null
      and address_hash is null`;
  return found.length > 0;
}

async function findRecipient({ sql, property }: Context, sendId: string): Promise<UnsubscribedSend> {
  const sends = await sql<UnsubscribedSend[]>`
    select s.campaign_id, s.player_id, s.address_hash, s.unsubscribed_at, (
        select p.email from players p
        where p.property_id = ${property.id} and p.email_hash = s.address_hash limit 1) as address,
      coalesce(o.email_hash is distinct from s.address_hash and o.deleted_at is null and o.id is not null, false)
        as has_moved
    from campaign_sends s
    left join players o on o.property_id = ${property.id} and o.id = s.player_id
    where s.property_id = ${property.id} and s.id = ${sendId}
    for no key update of s`;
  return one(sends, "campaign send", sendId);
}

/** Only the hash remains of an address that no player has any more. */
async function suppressHash(context: Context, hash: Buffer): Promise<void> {
  const { sql, property } = context;
  const written = await sql<WrittenSuppression[]>`
    insert into suppressions (property_id, channel, address_hash, reason, source)
    values (${property.id}, 'email', ${hash}, 'unsubscribed', 'unsubscribe_link')
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = excluded.updated_at
    returning ${WRITTEN}`;
  announceSuppressed(context, written);
}

async function mark(
  { sql, property, emit }: Context,
  sendId: string,
  { campaign_id, player_id }: UnsubscribedSend,
): Promise<void> {
  await sql`
    update campaign_sends set unsubscribed_at = now(), updated_at = now()
    where property_id = ${property.id} and id = ${sendId}`;
  emit("campaign.unsubscribed", { id: sendId, campaign_id, player_id, channel: "email" });
}
