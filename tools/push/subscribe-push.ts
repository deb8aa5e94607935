import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { consentTextOf } from "#tools/consent/page-texts.ts";
import { asPlayer, grantAsPlayer } from "#tools/consent/player-grant.ts";
import { keyOfSubscription } from "#tools/push-subscriptions/keys.ts";
import {
  checkedEndpoint,
  PushKey,
  Subscription,
  storeSubscription,
} from "#tools/push-subscriptions/subscription.ts";
import { shownName, themeOf } from "#tools/themes/theme.ts";
import { requirePlayer } from "./player.ts";
import { ConsentLanguage, PushState, pushState } from "./push-page.ts";

const SOURCE = "push_page";

/** The subscription page calls it; its token names the property and the player. */
export default tool({
  name: "subscribe_push",
  title: "Subscribe a player's browser to web push",
  description:
    "Stores a browser's subscription for one player. With agreed, it records the consent to the text that the page shows; without, it only renews a browser of a player whose consent stands, and takes none over from another player. Safe to repeat.",
  scope: "write",
  effect: "change",
  asks: true,
  access: "operator",
  sealed: Object.keys(Subscription),
  input: {
    playerId: z.uuid().describe("From list_players"),
    ...Subscription,
    publicKey: PushKey,
    language: ConsentLanguage,
    agreed: z.boolean().default(false).describe("The player has pressed the button under the consent text"),
  },
  output: PushState,
  faults: ["invalid", "not_found", "conflict", "rate_limited"],
  async handler(context, { playerId, agreed, language, publicKey: given, ...subscription }) {
    const endpoint = checkedEndpoint(context, subscription.endpoint);
    await requirePlayer(context, playerId);
    const before = await pushState(context, playerId, language);
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
    if (!agreed) {
      if (!before.consented) return before;
      await refuseOthers(context, playerId, endpoint);
    }
    const publicKey = await keyOfSubscription(context, { given, endpoint });
    const id = await storeSubscription(context, playerId, { ...subscription, endpoint, publicKey });
    if (!before.consented) {
      const consent = consentTextOf("push", language, shownName(await themeOf(context), context.property));
      await grantAsPlayer(asPlayer(context), { playerId, channel: "push", source: SOURCE, ...consent });
    }
    context.audit({ entity: "push_subscriptions", entityId: id, diff: { agreed } });
    return pushState(context, playerId, language);
  },
});

/** People share browsers: a look at one's page in the browser of another is no agreement to notifications there. */
async function refuseOthers({ sql, property }: Context, playerId: string, endpoint: string): Promise<void> {
  const others = await sql`
    select from push_subscriptions
    where property_id = ${property.id} and endpoint = ${endpoint} and player_id <> ${playerId}`;
  if (others.length > 0)
    throw new Fault("conflict", { message: "Another player has subscribed this browser." });
}
