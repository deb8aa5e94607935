import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { CHANNELS, type Channel } from "#tools/compliance/channels.ts";
import { consentTextOf } from "#tools/consent/page-texts.ts";
import { asPlayer, grantAsPlayer } from "#tools/consent/player-grant.ts";
import { revoke } from "#tools/consent/revoke.ts";
import { LANGUAGES, type Language, shownName, themeOf } from "#tools/themes/theme.ts";
import {
  type Holder,
  holderOf,
  Preference,
  preferencesOf,
  type RecipientPreferences,
} from "./preferences.ts";
import { unsubscribe } from "./unsubscribe.ts";

const channels = z.array(z.enum(CHANNELS)).max(CHANNELS.length).default([]);
const SOURCE = "preference_page";

/** The page of a message's link calls it; the link's token names the property and the send. */
export default tool({
  name: "save_preferences",
  title: "Save a recipient's preferences",
  description:
    "Turns channels off for the recipient of one message or for one player. A link that was sent to the channel's address turns it on again. Off is always allowed. Safe to repeat.",
  scope: "write",
  effect: "change",
  asks: true,
  access: "operator",
  input: {
    sendId: z.uuid().optional().describe("From list_campaign_sends"),
    playerId: z.uuid().optional().describe("Or a player, from list_players; this turns nothing on"),
    off: channels.describe("Revokes consent, suppresses the address and cancels open sends"),
    on: channels.describe("The player agrees anew to the text that the page shows"),
    language: z.enum(LANGUAGES).default("en").describe("Of that text"),
  },
  output: z.object({ preferences: z.array(Preference) }),
  faults: ["invalid", "not_found", "conflict", "rate_limited"],
  async handler(context, { off, on, language, ...input }) {
    const player = asPlayer(context);
    const holder = holderOf(input);
    const before = await preferencesOf(context, holder);
    const consents = on.filter((channel) => !off.includes(channel));
    if (consents.length > 0) {
      const sentence = `This writes a consent in the name of a message's recipient: ${consents.join(", ")}. Only the person themselves can give it.`;
      context.ask?.({ sentences: () => [sentence] });
    }
    for (const channel of new Set(off)) await turnOff(player, holder, before, channel);
    for (const channel of new Set(consents)) await turnOn(player, before, channel, language);
    const subject =
      "sendId" in holder
        ? { entity: "campaign_sends", entityId: holder.sendId }
        : { entity: "players", entityId: holder.playerId };
    context.audit({ ...subject, diff: { off, on } });
    const { preferences } = await preferencesOf(context, holder);
    return { preferences };
  },
});

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

async function turnOn(
  context: Context,
  recipient: RecipientPreferences,
  channel: Channel,
  language: Language,
): Promise<void> {
  const preference = recipient.preferences.find((one) => one.channel === channel);
  if (preference?.on) return;
  if (!preference?.can_turn_on || recipient.player_id === null || channel !== "email") {
    throw new Fault("conflict", { message: `This link cannot turn ${channel} on.` });
  }
  const consent = consentTextOf(channel, language, shownName(await themeOf(context), context.property));
  await grantAsPlayer(context, { playerId: recipient.player_id, channel, source: SOURCE, ...consent });
}
