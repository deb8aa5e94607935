import { createSecretKey } from "node:crypto";
import type { AppSecret, Config } from "#runtime/config.ts";
import type { Context } from "#runtime/operation/context.ts";
import { packId, readLink, signLink, unpackId } from "#runtime/secrets/links.ts";

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
  title: string;
  text: string;
}

/** Counts a click on a share, of a person or of a program, and answers the thing; null once the share is gone. */
export async function openShare(
  { sql, property }: Context,
  shareId: string,
  { counted, machine }: { counted: boolean; machine: boolean },
): Promise<SharedThing | null> {
  const [share] = await sql<{ content_type: string; content_id: string | null }[]>`
    update social_shares
    set clicks = clicks + ${counted && !machine ? 1 : 0}, machine_clicks = machine_clicks + ${counted && machine ? 1 : 0}
    where property_id = ${property.id} and id = ${shareId}
    returning content_type, content_id`;
  if (!share) return null;
  if (share.content_type !== "game")
    return { title: property.name, text: "A player has shared this with you." };
  const [game] = await sql<{ name: string; description: string | null }[]>`
    select name, description from games
    where property_id = ${property.id} and id::text = ${share.content_id} and deleted_at is null`;
  if (!game) return { title: property.name, text: "The game is not there any more." };
  return { title: game.name, text: game.description ?? `A game of ${property.name}.` };
}

function keyOf({ appSecret }: AppSecret) {
  return createSecretKey(Buffer.from(appSecret));
}
