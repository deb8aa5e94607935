import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { publicPushKey } from "#tools/push-subscriptions/keys.ts";
import { shownName, themeOf } from "#tools/themes/theme.ts";

/** The text that a player agrees to. The page shows it, and the ledger keeps it. */
export const CONSENT_VERSION = "push-page-1";
export const consentText = (name: string): string =>
  `Yes, ${name} may send me marketing notifications in this browser. I can stop them at any time on this page or in the browser's settings.`;

/** How web push stands for a player. */
export const PushState = z.object({
  public_key: z.string().describe("The property's VAPID key, base64url: the browser's applicationServerKey"),
  consent_text: z.string().describe("The player agrees to it by subscribing"),
  consented: z.boolean().describe("The player's consent stands"),
  allowed: z.boolean().describe("Nothing but a missing consent or browser bars notifications"),
  browsers: z.int().describe("Browsers that take notifications"),
});
export type PushState = z.output<typeof PushState>;

const WITHDRAWN = ["no_consent", "consent_expired", "suppressed"];
/** The reasons against a message that subscribing itself removes. */
const BROUGHT = [...WITHDRAWN, "invalid_address"];

/** The state of a player's web push. The property's first call makes its keys. */
export async function pushState(context: Context, playerId: string): Promise<PushState> {
  const { sql, property } = context;
  const publicKey = await publicPushKey(context);
  const theme = await themeOf(context);
  const [row] = await sql<{ reasons: string[]; browsers: number }[]>`
    select ${gateReasons({ property, channel: "push" })} as reasons, (
        select count(*)::int from push_subscriptions b
        where b.property_id = ${property.id} and b.player_id = p.id and b.disabled_at is null) as browsers
    from players p where p.property_id = ${property.id} and p.id = ${playerId}`;
  const { reasons, browsers } = row!;
  return {
    public_key: publicKey,
    consent_text: consentText(shownName(theme, property)),
    consented: !WITHDRAWN.some((reason) => reasons.includes(reason)),
    allowed: reasons.every((reason) => BROUGHT.includes(reason)),
    browsers,
  };
}
