import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { asPlayer } from "#tools/consent/player-grant.ts";
import { revoke } from "#tools/consent/revoke.ts";
import { requirePlayer } from "./player.ts";
import { ConsentLanguage, PushState, pushState } from "./push-page.ts";

/** The subscription page calls it; its token names the property and the player. */
export default tool({
  name: "unsubscribe_push",
  title: "Stop a player's web push",
  description:
    "Revokes a player's consent for web push, ends the subscriptions of all their browsers and cancels pending notifications. Safe to repeat.",
  scope: "write",
  effect: "change",
  access: "operator",
  input: { playerId: z.uuid().describe("From list_players"), language: ConsentLanguage },
  output: PushState,
  faults: ["not_found"],
  async handler(context, { playerId, language }) {
    const { sql, property, audit } = context;
    await requirePlayer(context, playerId);
    await sql`
      update push_subscriptions set disabled_at = now(), disabled_reason = 'unsubscribed', updated_at = now()
      where property_id = ${property.id} and player_id = ${playerId} and disabled_at is null`;
    await revoke(asPlayer(context), {
      playerId,
      channels: ["push"],
      method: "preference_page",
      source: "push_page",
    });
    audit({ entity: "players", entityId: playerId, diff: { push: "stopped" } });
    return pushState(context, playerId, language);
  },
});
