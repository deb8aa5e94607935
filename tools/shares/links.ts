import { createSecretKey } from "node:crypto";
import type { AppSecret, Config } from "#runtime/config.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { packId, readLink, signLink, unpackId } from "#runtime/secrets/links.ts";
import type { GameType } from "#tools/games/game/columns.ts";
import { mayPlay } from "#tools/games/tickets/grant.ts";

const PURPOSE = "share";

/** The link of a share. */
export function shareLink(
  config: AppSecret & Pick<Config, "baseUrl">,
  propertyId: string,
  shareId: string,
): string {
  const token = signLink(keyOf(config), PURPOSE, { p: packId(propertyId), s: packId(shareId) });
  return `${config.baseUrl}/s/${token}`;
}

/** The contents of a link's token; null for a token that is not ours. */
export function readShareToken(
  config: AppSecret,
  token: string,
): { propertyId: string; shareId: string } | null {
  const payload = readLink(keyOf(config), PURPOSE, token);
  return payload && { propertyId: unpackId(String(payload.p)), shareId: unpackId(String(payload.s)) };
}

/** The shared thing, as a page shows it. */
export interface SharedThing {
  /** The name of the game or offer, or the subject of the campaign; null where there is none to show. */
  title: string | null;
  text: string | null;
  /** `over`: a game that does not run now. */
  kind: "game" | "over" | "offer" | "campaign";
  /** The type of a game, and the number of its prizes. */
  game?: { type: GameType; prizes: number };
}

/**
 * Counts a click on a share, of a person or of a program, and answers the thing; null once the share is gone, or its
 * player is barred.
 */
export async function openShare(
  { sql, property }: Context,
  shareId: string,
  { counted, machine }: { counted: boolean; machine: boolean },
): Promise<SharedThing | null> {
  const [sharer] = await sql`
    select from social_shares h
    join players p on p.property_id = ${property.id} and p.id = h.player_id
    where h.property_id = ${property.id} and h.id = ${shareId} and ${mayPlay(property.id)}`;
  if (!sharer) return null;
  const [share] = await sql<{ content_type: "game" | "offer" | "campaign"; content_id: string | null }[]>`
    update social_shares
    set clicks = clicks + ${counted && !machine ? 1 : 0}, machine_clicks = machine_clicks + ${counted && machine ? 1 : 0}
    where property_id = ${property.id} and id = ${shareId}
    returning content_type, content_id`;
  if (!share) return null;
  const { content_type: kind, content_id: id } = share;
  if (kind === "offer") return { kind, title: id, text: null };
  return kind === "game" ? sharedGame({ sql, property }, id) : sharedCampaign({ sql, property }, id);
}

async function sharedGame({ sql, property }: Tenant, id: string | null): Promise<SharedThing> {
  const [found] = await sql<
    { title: string; text: string | null; runs: boolean; game: SharedThing["game"] & {} }[]
  >`
    select name as title, description as text, status = 'active'
      and (starts_at is null or starts_at <= now()) and (ends_at is null or ends_at > now()) as runs,
      json_build_object('type', type, 'prizes', (select count(*) from game_prizes z
        where z.property_id = ${property.id} and z.game_id = games.id)) as game
    from games
    where property_id = ${property.id} and id::text = ${id} and deleted_at is null and status <> 'draft'`;
  if (!found) return { kind: "over", title: null, text: null };
  const { runs, ...shown } = found;
  return runs ? { kind: "game", ...shown } : { kind: "over", title: shown.title, text: null };
}

/** A subject that greets its reader by name is nobody else's. */
async function sharedCampaign({ sql, property }: Tenant, id: string | null): Promise<SharedThing> {
  const [campaign] = await sql<{ subject: string | null }[]>`
    select subject from campaigns
    where property_id = ${property.id} and id::text = ${id} and deleted_at is null`;
  const subject = campaign?.subject ?? null;
  return { kind: "campaign", title: subject?.includes("{") ? null : subject, text: null };
}

function keyOf({ appSecret }: AppSecret) {
  return createSecretKey(Buffer.from(appSecret));
}
