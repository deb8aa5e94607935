import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { consentTextOf } from "#tools/consent/page-texts.ts";
import { publicPushKey } from "#tools/push-subscriptions/keys.ts";
import { LANGUAGES, type Language, shownName, themeOf } from "#tools/themes/theme.ts";

/** The language of the consent text, an input of each operation of the page. */
export const ConsentLanguage = z.enum(LANGUAGES).default("en").describe("Of the consent text");

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
export async function pushState(context: Context, playerId: string, language: Language): Promise<PushState> {
  const { sql, property } = context;
  const publicKey = await publicPushKey(context);
  const name = shownName(await themeOf(context), property);
  const [row] = await sql<{ reasons: string[]; browsers: number }[]>`
    select ${gateReasons({ property, channel: "push" })} as reasons, (
        select count(*)::int from push_subscriptions b
        where b.property_id = ${property.id} and b.player_id = p.id and b.disabled_at is null) as browsers
    from players p where p.property_id = ${property.id} and p.id = ${playerId}`;
  const { reasons, browsers } = row!;
  return {
    public_key: publicKey,
    consent_text: consentTextOf("push", language, name).text,
    consented: !WITHDRAWN.some((reason) => reasons.includes(reason)),
    allowed: reasons.every((reason) => BROUGHT.includes(reason)),
    browsers,
  };
}
