import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { CHANNELS, type Channel } from "#tools/compliance/channels.ts";
import { liftWishes } from "#tools/consent/consent-record.ts";
import { record } from "#tools/consent/ledger.ts";
import { revoke } from "#tools/consent/revoke.ts";
import {
  CONSENT_TEXTS,
  CONSENT_VERSION,
  type Holder,
  holderOf,
  Preference,
  preferencesOf,
  type RecipientPreferences,
} from "./preferences.ts";
import { unsubscribe } from "./unsubscribe.ts";

const channels = z.array(z.enum(CHANNELS)).max(CHANNELS.length).default([]);
const SOURCE = "preference_page";
/**
 * Grants a day by the links of one player: otherwise the holder of a message could fill the ledger. Refusals have no
 * limit.
 */
const MOST_GRANTS = 10;
const DAY = 86_400;

/** The page of a message's link calls it; the link's token names the property and the send. */
export default tool({
  name: "save_preferences",
  title: "Save a recipient's preferences",
  description:
    "Turns channels off for the recipient of one message or for one player, or on again by a link that was sent to that very address. Off is always allowed. Safe to repeat.",
  scope: "write",
  effect: "change",
  asks: true,
  access: "operator",
  input: {
    sendId: z.uuid().optional().describe("From list_campaign_sends"),
    playerId: z.uuid().optional().describe("Or a player, from list_players; this turns nothing on"),
    off: channels.describe("Revokes consent, suppresses the address and cancels open sends"),
    on: channels.describe("The player agrees anew to the text that the page shows"),
  },
  output: z.object({ preferences: z.array(Preference) }),
  faults: ["invalid", "not_found", "conflict", "rate_limited"],
  async handler(context, { off, on, ...input }) {
    const player = asPlayer(context);
    const holder = holderOf(input);
    const before = await preferencesOf(context, holder);
    const consents = on.filter((channel) => !off.includes(channel));
    if (consents.length > 0) {
      const sentence = `This writes a consent in the name of a message's recipient: ${consents.join(", ")}. Only the person themselves can give it.`;
      context.ask?.({ sentences: () => [sentence] });
    }
    for (const channel of new Set(off)) await turnOff(player, holder, before, channel);
    for (const channel of new Set(consents)) await turnOn(player, before, channel);
    const subject =
      "sendId" in holder
        ? { entity: "campaign_sends", entityId: holder.sendId }
        : { entity: "players", entityId: holder.playerId };
    context.audit({ ...subject, diff: { off, on } });
    const { preferences } = await preferencesOf(context, holder);
    return { preferences };
  },
});

/** The link's holder is anonymous; the ledger records them as the player. */
function asPlayer(context: Context): Context {
  return { ...context, call: { ...context.call, actor: { type: "anonymous", id: null } } };
}

async function turnOff(
  context: Context,
  holder: Holder,
  recipient: RecipientPreferences,
  channel: Channel,
): Promise<void> {
  // By the address, for every player who has it.
  if (channel === "email" && "sendId" in holder)
    await unsubscribe(context, { sendId: holder.sendId, method: SOURCE });
  else if (recipient.player_id !== null)
    await revoke(context, {
      playerId: recipient.player_id,
      channels: [channel],
      method: SOURCE,
      source: SOURCE,
    });
}

async function turnOn(context: Context, recipient: RecipientPreferences, channel: Channel): Promise<void> {
  const preference = recipient.preferences.find((one) => one.channel === channel);
  if (preference?.on) return;
  const text = CONSENT_TEXTS[channel]?.(context.property.name);
  if (!preference?.can_turn_on || recipient.player_id === null || text === undefined) {
    throw new Fault("conflict", { message: `This link cannot turn ${channel} on.` });
  }
  await refuseManyGrants(context, recipient.player_id, channel);
  const [row] = await record(context, {
    playerIds: [recipient.player_id],
    channels: [channel],
    action: "granted",
    level: "express",
    source: SOURCE,
    method: SOURCE,
    text,
    version: CONSENT_VERSION,
  });
  const { id, player_id, action, consent_source, consent_version, occurred_at } = row!;
  await liftWishes(context, player_id, channel, occurred_at);
  context.emit("consent.granted", {
    id,
    player_id,
    channel,
    action,
    consent_source,
    consent_version,
    occurred_at,
  });
}

async function refuseManyGrants(
  { sql, property }: Tenant,
  playerId: string,
  channel: Channel,
): Promise<void> {
  const [grants] = await sql<{ count: number; reset: number; wait: number }[]>`
    select count(*)::int, ceil(extract(epoch from min(occurred_at)) + ${DAY})::double precision as reset,
      ceil(extract(epoch from min(occurred_at) - now()) + ${DAY})::int as wait
    from consent_records
    where property_id = ${property.id} and player_id = ${playerId} and channel = ${channel} and action = 'granted'
      and consent_source = ${SOURCE} and occurred_at > now() - make_interval(secs => ${DAY})`;
  const { count, reset, wait } = grants!;
  if (count < MOST_GRANTS) return;
  throw new Fault("rate_limited", { retryAfter: Math.max(1, wait), window: { limit: MOST_GRANTS, reset } });
}
