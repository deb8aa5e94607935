import { type Fragment, join, raw, sql } from "#db/sql.ts";
import type { RuleScope } from "./rule-scope.ts";

const HASHES: Record<string, Fragment[]> = {
  email: [sql`p.email_hash`],
  sms: [sql`p.phone_hash`],
  voice: [sql`p.phone_hash`],
  push: [],
  all: [sql`p.email_hash`, sql`p.phone_hash`],
};

/**
 * Whether a suppression in force stops the channel for `players p`. Each key has its own `exists`, which can be hashed
 * or answered by its index: one with `or` cannot.
 */
export function suppressed(channel: string, { property, now }: RuleScope): Fragment {
  const channels = raw(channel === "all" ? "'all'" : `'all', '${channel}'`);
  const live = sql`s.property_id = ${property} and s.channel in (${channels}) and s.lifted_at is null
    and (s.expires_at is null or s.expires_at > ${now})`;
  const keys = [sql`s.player_id = p.id`, ...HASHES[channel]!.map((hash) => sql`s.address_hash = ${hash}`)];
  return join(
    keys.map((key) => sql`exists (select 1 from suppressions s where ${live} and ${key})`),
    " or ",
  );
}
