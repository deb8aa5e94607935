import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { asPlayer, grantAsPlayer } from "#tools/consent/player-grant.ts";
import { checkedEndpoint, Subscription, storeSubscription } from "#tools/push-subscriptions/subscription.ts";
import { requirePlayer } from "./player.ts";
import { CONSENT_VERSION, PushState, pushState } from "./push-page.ts";

const SOURCE = "push_page";

/** The subscription page calls it; its token names the property and the player. */
export default tool({
  name: "subscribe_push",
  title: "Subscribe a player's browser to web push",
  description:
    "Stores a browser's subscription for one player. With agreed, it records the consent to the text that the page shows; without, it only renews the browser of a player whose consent stands. Safe to repeat.",
  scope: "write",
  effect: "change",
  asks: true,
  access: "operator",
  input: {
    playerId: z.uuid().describe("From list_players"),
    ...Subscription,
    agreed: z.boolean().default(false).describe("The player has pressed the button under the consent text"),
  },
  output: PushState,
  faults: ["invalid", "not_found", "conflict", "rate_limited"],
  async handler(context, { playerId, agreed, ...subscription }) {
    const endpoint = checkedEndpoint(context, subscription.endpoint);
    await requirePlayer(context, playerId);
    const before = await pushState(context, playerId);
    if (agreed) {
      const sentence =
        "This writes a consent to web push in the name of a player. Only the person themselves can give it.";
      context.ask?.({ sentences: () => [sentence] });
    }
    if (!before.allowed) {
      throw new Fault("conflict", {
        message: "Web push cannot be turned on for this player: explain_eligibility says why.",
      });
    }
    if (!before.consented && !agreed) return before;
    const id = await storeSubscription(context, playerId, { ...subscription, endpoint });
    if (!before.consented) {
      const grant = {
        playerId,
        channel: "push",
        source: SOURCE,
        text: before.consent_text,
        version: CONSENT_VERSION,
      } as const;
      await grantAsPlayer(asPlayer(context), grant);
    }
    context.audit({ entity: "push_subscriptions", entityId: id, diff: { agreed } });
    return pushState(context, playerId);
  },
});
