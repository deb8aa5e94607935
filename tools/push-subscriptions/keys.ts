import { createECDH } from "node:crypto";
import type { PushKeys } from "#runtime/channels/provider/channel.ts";
import { invalid } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { locationOf, seal, unseal } from "#runtime/secrets/sealing.ts";

type Keyring = Tenant & Pick<Context, "config">;

/** The property's VAPID keys, the current one first. None before its first subscription page was opened. */
export async function pushKeys({ sql, property, config }: Keyring): Promise<PushKeys[]> {
  const stored = await sql<{ public_key: string; private_key: string }[]>`
    select public_key, private_key from push_keys
    where property_id = ${property.id} order by retired_at desc nulls first, public_key`;
  return stored.map(({ public_key: publicKey, private_key }) => ({
    publicKey,
    privateKey: unseal(config, placeOf(property.id, publicKey), private_key),
  }));
}

/** The public key that browsers subscribe with. The property's first call makes its keys. */
export async function publicPushKey(context: Keyring): Promise<string> {
  const { sql, property } = context;
  const [current] = await sql<{ public_key: string }[]>`
    select public_key from push_keys where property_id = ${property.id} and retired_at is null`;
  if (current) return current.public_key;
  const { publicKey, sealed } = newPair(context);
  // Of two first calls, the second answers the keys of the first.
  const [stored] = await sql<{ public_key: string }[]>`
    insert into push_keys (property_id, public_key, private_key)
    values (${property.id}, ${publicKey}, ${sealed})
    on conflict (property_id) where retired_at is null do update set public_key = push_keys.public_key
    returning public_key`;
  return stored!.public_key;
}

/**
 * The key of a subscription: the given one, that of the known browser with this address, or the current one. Throws
 * `invalid` for a key that is not the property's.
 */
export async function keyOfSubscription(
  context: Keyring,
  { given, endpoint }: { given: string | undefined; endpoint: string },
): Promise<string> {
  const { sql, property } = context;
  if (given === undefined) {
    const [known] = await sql<{ public_key: string }[]>`
      select public_key from push_subscriptions where property_id = ${property.id} and endpoint = ${endpoint}`;
    return known?.public_key ?? publicPushKey(context);
  }
  const [own] = await sql`
    select from push_keys where property_id = ${property.id} and public_key = ${given}`;
  if (!own) throw invalid("public_key", "is no key of this property; show_push answers the current one");
  return given;
}

/**
 * Makes a new key, by which browsers subscribe from now on, and forgets long retired keys that no browser needs: pages
 * that are open yet show the last one. Answers the new key, and the browsers that still have an older one.
 */
export async function rotateKeys(context: Keyring): Promise<{ publicKey: string; older: number }> {
  const { sql, property } = context;
  // A second rotation waits, and retires the key of the first.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`push keys ${property.id}`}, 0))`;
  await sql`
    update push_keys set retired_at = now() where property_id = ${property.id} and retired_at is null`;
  const { publicKey, sealed } = newPair(context);
  await sql`
    insert into push_keys (property_id, public_key, private_key)
    values (${property.id}, ${publicKey}, ${sealed})`;
  await sql`
    delete from push_keys k where k.property_id = ${property.id} and k.retired_at < now() - interval '1 day' and not exists (
      select from push_subscriptions b where b.property_id = ${property.id} and b.public_key = k.public_key)`;
  const [row] = await sql<[{ older: number }]>`
    select count(*)::int as older from push_subscriptions
    where property_id = ${property.id} and public_key <> ${publicKey} and disabled_at is null`;
  return { publicKey, older: row.older };
}

function newPair({ property, config }: Keyring): { publicKey: string; sealed: string } {
  const pair = createECDH("prime256v1");
  const publicKey = pair.generateKeys("base64url");
  // 32 bytes, also where the number begins with zeros.
  const privateKey = pair.getPrivateKey("hex").padStart(64, "0");
  const bytes = Buffer.from(privateKey, "hex");
  return { publicKey, sealed: seal(config, placeOf(property.id, publicKey), bytes.toString("base64url")) };
}

function placeOf(propertyId: string, publicKey: string): string {
  return locationOf("push_keys", "private_key", propertyId, publicKey);
}
