import { createECDH } from "node:crypto";
import { z } from "zod";
import { type Fragment, sql } from "#db/sql.ts";
import type { DeviceResult, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { invalid } from "#runtime/faults.ts";
import { refuseUrl } from "#runtime/network/public-address.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";

const BASE64URL = /^[A-Za-z0-9_-]+$/;
/** A player's further browser replaces the one that has been silent for the longest time. */
const MOST_BROWSERS = 10;

/** A browser's subscription, as its PushSubscription gives it. */
export const Subscription = {
  endpoint: z.string().min(1).max(2048).describe("The address of the browser's push service"),
  p256dh: z
    .string()
    .max(200)
    .refine(isPoint, "must be the browser's public key: 65 bytes in base64url, a point of P-256")
    .describe("Base64url"),
  auth: z
    .string()
    .max(100)
    .refine((text) => isBytes(text, 16), "must be 16 bytes in base64url")
    .describe("Base64url"),
};
/** The VAPID key of a subscription, where the browser names it. */
export const PushKey = z
  .string()
  .max(200)
  .optional()
  .describe(
    "The property's key that the browser subscribed with: its applicationServerKey. Default: a known browser keeps its key; a new one has the current key",
  );
export type Subscription = { [K in keyof typeof Subscription]: z.output<(typeof Subscription)[K]> };

function isBytes(text: string, count: number): boolean {
  return BASE64URL.test(text) && Buffer.from(text, "base64url").length === count;
}

function isPoint(text: string): boolean {
  if (!isBytes(text, 65)) return false;
  try {
    const pair = createECDH("prime256v1");
    pair.generateKeys();
    pair.computeSecret(Buffer.from(text, "base64url"));
    return true;
  } catch {
    return false;
  }
}

/** The endpoint in the one form in which it is stored. Throws `invalid` for an address that is not called. */
export function checkedEndpoint({ config }: Pick<Context, "config">, endpoint: string): string {
  const open = config.webhooksAllowPrivate;
  const refusal = refuseUrl(endpoint, { allowPrivate: open, allowHttp: open });
  if (refusal !== null) throw invalid("endpoint", refusal);
  const { href } = new URL(endpoint);
  if (href.length > 2048) throw invalid("endpoint", "is longer than 2048 characters");
  return href;
}

/** Whether a browser of a player `p` takes notifications, as SQL. */
export function hasSubscription(property: Fragment): Fragment {
  return sql`exists (
    select 1 from push_subscriptions b
    where b.property_id = ${property} and b.player_id = p.id and b.disabled_at is null)`;
}

/** The browsers of a player `p`, as JSON of `PushDevice`s. */
export function devicesOf(property: Fragment): Fragment {
  return sql`(select json_agg(json_build_object('id', b.id, 'endpoint', b.endpoint, 'p256dh', b.p256dh, 'auth', b.auth,
      'key', b.public_key))
    from push_subscriptions b
    where b.property_id = ${property} and b.player_id = p.id and b.disabled_at is null)`;
}

/** Stores a browser, or its new keys and player. Answers the id. */
export async function storeSubscription(
  { sql: db, property, call }: Pick<Context, "sql" | "property" | "call">,
  playerId: string,
  { endpoint, p256dh, auth, publicKey }: Subscription & { publicKey: string },
  userAgent = call.userAgent,
): Promise<string> {
  await lockBrowser({ sql: db, property }, endpoint);
  const [stored] = await db<{ id: string }[]>`
    insert into push_subscriptions (property_id, player_id, endpoint, p256dh, auth, public_key, user_agent)
    values (${property.id}, ${playerId}, ${endpoint}, ${p256dh}, ${auth}, ${publicKey}, ${userAgent?.slice(0, 500) ?? null})
    on conflict (property_id, endpoint) do update
    set player_id = excluded.player_id, p256dh = excluded.p256dh, auth = excluded.auth, public_key = excluded.public_key,
      user_agent = excluded.user_agent, disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason,
      updated_at = excluded.updated_at
    returning id`;
  await endSilent({ sql: db, property }, [playerId]);
  return stored!.id;
}

/** Calls that add the same browser wait for each other, so that the later ones find it. */
export async function lockBrowser({ sql: db, property }: Tenant, endpoint: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`browser ${property.id} ${endpoint}`}, 0))`;
}

/**
 * Ends the browsers of one person beyond the most, of those that were silent for the longest time. Two records that are
 * being merged are one person.
 */
export async function endSilent({ sql: db, property }: Tenant, playerIds: readonly string[]): Promise<void> {
  await db`
    update push_subscriptions set disabled_at = now(), disabled_reason = 'replaced', updated_at = now()
    where property_id = ${property.id} and id in (
      select id from push_subscriptions
      where property_id = ${property.id} and player_id = any(${playerIds}::uuid[]) and disabled_at is null
      order by updated_at desc, id desc offset ${MOST_BROWSERS}::int)`;
}

/** Records the push services' answers: a browser that is gone gets nothing any more. */
export async function noteDevices(
  { sql: db, property }: Tenant,
  outcomes: readonly SendOutcome[],
): Promise<void> {
  const results = outcomes.flatMap(({ devices }) => devices ?? []);
  const ids = (is: DeviceResult["is"]) => results.filter((one) => one.is === is).map(({ id }) => id);
  const reached = ids("reached");
  if (reached.length > 0) {
    await db`
      update push_subscriptions set last_success_at = now()
      where property_id = ${property.id} and id = any(${reached}::uuid[])`;
  }
  for (const reason of ["gone", "bad_keys"] as const) {
    const lost = ids(reason);
    if (lost.length === 0) continue;
    await db`
      update push_subscriptions set disabled_at = now(), disabled_reason = ${reason}, updated_at = now()
      where property_id = ${property.id} and id = any(${lost}::uuid[]) and disabled_at is null`;
  }
}
