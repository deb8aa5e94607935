import { createECDH } from "node:crypto";
import type { PushKeys } from "#runtime/channels/provider/channel.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { locationOf, seal, unseal } from "#runtime/secrets/sealing.ts";

type Stored = { public_key: string; private_key: string };

/** The property's VAPID keys; null before its first subscription page was opened. */
export async function pushKeys({
  sql,
  property,
  config,
}: Tenant & Pick<Context, "config">): Promise<PushKeys | null> {
  const [stored] = await sql<Stored[]>`
    select public_key, private_key from push_keys where property_id = ${property.id}`;
  if (!stored) return null;
  const { public_key: publicKey, private_key } = stored;
  return { publicKey, privateKey: unseal(config, placeOf(property.id), private_key) };
}

/** The public key that browsers subscribe with. The property's first call makes its keys. */
export async function publicPushKey(context: Tenant & Pick<Context, "config">): Promise<string> {
  const known = await pushKeys(context);
  if (known) return known.publicKey;
  const { sql, property, config } = context;
  const pair = createECDH("prime256v1");
  const publicKey = pair.generateKeys("base64url");
  // 32 bytes, also where the number begins with zeros.
  const privateKey = pair.getPrivateKey("hex").padStart(64, "0");
  const sealed = seal(config, placeOf(property.id), Buffer.from(privateKey, "hex").toString("base64url"));
  // Of two first calls, the second answers the keys of the first.
  const [stored] = await sql<Stored[]>`
    insert into push_keys (property_id, public_key, private_key)
    values (${property.id}, ${publicKey}, ${sealed})
    on conflict (property_id) do update set public_key = push_keys.public_key
    returning public_key, private_key`;
  return stored!.public_key;
}

function placeOf(propertyId: string): string {
  return locationOf("push_keys", "private_key", propertyId, propertyId);
}
