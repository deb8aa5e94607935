import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { insert } from "#runtime/operation/rows.ts";
import { mayPlay } from "#tools/games/tickets/grant.ts";
import { themeOf } from "#tools/themes/theme.ts";
import { shareLink } from "./links.ts";
import socialShares from "./social-shares.table.ts";

const CONTENT = ["game", "offer", "campaign"] as const;

export default tool({
  name: "create_share_link",
  title: "Create a link to share",
  description:
    "Gives a player a short link to a game, an offer or a campaign for one network. Clicks of people and of programs are counted apart, and record_referral counts the people who came by it. The same call answers the same link.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    playerId: z.uuid().describe("From list_players"),
    propertyId: z.uuid(),
    network: z.string().trim().min(1).max(60).toLowerCase().describe("Such as facebook, x or whatsapp"),
    contentType: z.enum(CONTENT).describe("The kind of the shared thing"),
    contentId: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .describe("The id of the game or campaign, or the offer's name"),
  },
  output: z.object({
    success: z.literal(true),
    share: viewOf(socialShares),
    warning: z.string().nullable().describe("Set where the link's page leads nowhere"),
  }),
  faults: ["invalid", "not_found", "not_eligible"],
  async handler(context, { playerId, network, contentType, contentId: named }) {
    const { sql, property, config, emit } = context;
    await checkSharer(context, playerId);
    // The id of a record is the same in capitals; the name of an offer is not.
    const contentId = contentType === "offer" ? named : named.toLowerCase();
    await checkContent(context, contentType, contentId);
    const [known] = await sql<{ id: string }[]>`
      select id from social_shares
      where property_id = ${property.id} and player_id = ${playerId} and network = ${network}
        and content_type = ${contentType} and content_id = ${contentId}
        and starts_with(share_url, ${`${config.baseUrl}/s/`})`;
    const id = known?.id ?? randomUUIDv7();
    context.audit({ entity: "social_shares", entityId: id });
    const warning = (await themeOf(context)).join_url === null ? LEADS_NOWHERE : null;
    if (known) return { success: true as const, share: await found(context, id), warning };
    const share = await insert(context, socialShares, {
      id,
      player_id: playerId,
      network,
      content_type: contentType,
      content_id: contentId,
      share_url: shareLink(config, property.id, id),
    });
    emit("player.shared", share);
    return { success: true as const, share, warning };
  },
});

const LEADS_NOWHERE =
  "The page of this link shows the thing and leads nowhere: set join_url, the page on which people join, by set_property_theme.";

/** Locks the player, so that two calls give one link. */
async function checkSharer({ sql, property }: Context, playerId: string): Promise<void> {
  const [player] = await sql<{ may: boolean }[]>`
    select ${mayPlay(property.id)} as may from players p
    where p.property_id = ${property.id} and p.id = ${playerId} and p.deleted_at is null for no key update of p`;
  if (!player) throw new Fault("not_found", { message: `playerId: no player ${playerId} in this property.` });
  if (!player.may)
    throw new Fault("not_eligible", { message: "The player is barred, and may share nothing." });
}

async function checkContent(
  { sql, property }: Context,
  type: (typeof CONTENT)[number],
  id: string,
): Promise<void> {
  if (type === "offer") return;
  if (!z.uuid().safeParse(id).success) throw invalid("contentId", `must be the id of a ${type}`);
  const rows =
    type === "game"
      ? await sql`select from games where property_id = ${property.id} and id = ${id} and deleted_at is null`
      : await sql`select from campaigns where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  if (rows.length === 0)
    throw new Fault("not_found", { message: `contentId: no ${type} ${id} in this property.` });
}

async function found({ sql, property }: Context, id: string) {
  const [row] = await sql<[{ row: Record<string, unknown> }]>`
    select row_to_json(s) as row from social_shares s where s.property_id = ${property.id} and s.id = ${id}`;
  return row.row;
}
