import { createHmac } from "node:crypto";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { addressHash } from "#tools/people/address.ts";
import { FORGET_DEVICES } from "./forgetting.ts";

/** A browser that opens no page of ours for this time is forgotten, and its cookie ends. */
export const DEVICE_DAYS = 180;

/** More browsers of one player are forgotten, those that were not seen for the longest time first. */
const MOST_DEVICES = 20;

const DAY_MS = 86_400_000;

/** HMAC-SHA256 of a browser's random name: two properties know one browser by two hashes. */
export function deviceHash({ pepper }: Pick<Property, "pepper">, name: string): Buffer {
  // Addresses have no blanks, so this differs from every address's hash.
  return addressHash(pepper, `device ${name}`);
}

/** A browser behind one shared link, in 22 characters. Behind another link it has another mark. */
export function deviceMark(hash: Buffer, shareId: string): string {
  return createHmac("sha256", hash).update(shareId).digest().subarray(0, 16).toString("base64url");
}

/**
 * Whether a page has to note the player's browser: the property's players share links, and today nobody has noted it.
 * `cookie`: whether the page names the browser at all.
 */
export async function deviceNeeds(
  { sql, property }: Tenant,
  playerId: string,
  hash: Buffer,
): Promise<{ cookie: boolean; note: boolean }> {
  const [found] = await sql<[{ shares: boolean; seen: boolean }]>`
    select exists (select from social_shares where property_id = ${property.id}) as shares,
      exists (select from player_devices
        where property_id = ${property.id} and player_id = ${playerId} and device_hash = ${hash}
          and updated_at > now() - interval '1 day') as seen`;
  return { cookie: found.shares, note: found.shares && !found.seen };
}

/** Notes that a player has opened a page of theirs in a browser. */
export async function noteDevice(
  { sql, property, enqueue, now }: Context,
  playerId: string,
  hash: Buffer,
): Promise<void> {
  await sql`
    insert into player_devices (property_id, player_id, device_hash) values (${property.id}, ${playerId}, ${hash})
    on conflict (property_id, player_id, device_hash) do update set updated_at = excluded.updated_at`;
  await sql`
    delete from player_devices
    where property_id = ${property.id} and player_id = ${playerId} and device_hash in (
      select device_hash from player_devices where property_id = ${property.id} and player_id = ${playerId}
      order by updated_at desc, device_hash offset ${MOST_DEVICES})`;
  enqueue(FORGET_DEVICES, {}, { dedupe: property.id, runAt: new Date(now() + DAY_MS).toISOString() });
}

/** Whether the referred person has used a browser of the sharer. `mark`: of the browser that opened the link. */
export async function isOwnDevice(
  { sql, property }: Tenant,
  share: { id: string; player_id: string },
  { referredId, mark }: { referredId: string; mark: string | undefined },
): Promise<boolean> {
  const devices = await sql<{ player_id: string; hash: string }[]>`
    select player_id, encode(device_hash, 'hex') as hash from player_devices
    where property_id = ${property.id} and player_id in (${share.player_id}, ${referredId})
      and updated_at > now() - make_interval(days => ${DEVICE_DAYS})`;
  const of = (id: string) => devices.filter(({ player_id }) => player_id === id).map(({ hash }) => hash);
  const theirs = new Set(of(referredId));
  return of(share.player_id).some(
    (hash) => theirs.has(hash) || deviceMark(Buffer.from(hash, "hex"), share.id) === mark,
  );
}
