import type { Context } from "#runtime/operation/context.ts";
import { asPlayer } from "#tools/consent/player-grant.ts";
import { revoke, revokedWith } from "#tools/consent/revoke.ts";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import type { StoredCall } from "./call.ts";

/**
 * Revokes the consent of the person who said or pressed stop in a call, for the number and all who have it. The line of
 * the transcript is the evidence. It is in force before the call ends.
 */
export async function revokeBySpeech(
  context: Context,
  { id, send_id, campaign_id, player_id }: Pick<StoredCall, "id" | "send_id" | "campaign_id" | "player_id">,
  line: Pick<TranscriptLine, "n" | "text" | "keys">,
): Promise<void> {
  const { sql, property, emit } = context;
  const [send] = await sql<{ hash: Buffer | null; was: string | null; status: string }[]>`
    select address_hash as hash, unsubscribed_at as was, status from campaign_sends
    where property_id = ${property.id} and id = ${send_id}`;
  await revoke(asPlayer(context), {
    many: {
      addresses: send?.hash ? [{ hash: send.hash, address: null }] : [],
      playerIds: player_id === null ? [] : [player_id],
    },
    channels: revokedWith(context, "voice"),
    method: line.keys === null ? "voice_speech" : "voice_keypress",
    source: "voice_call",
    evidence: `Call ${id}, line ${line.n}: ${line.text}`,
  });
  if (!send || send.was !== null) return;
  await sql`
    update campaign_sends set unsubscribed_at = now(), updated_at = now()
    where property_id = ${property.id} and id = ${send_id} and unsubscribed_at is null`;
  if (campaign_id === null) return;
  emit("campaign.unsubscribed", {
    id: send_id,
    campaign_id,
    player_id,
    channel: "voice",
    status: send.status,
  });
}
