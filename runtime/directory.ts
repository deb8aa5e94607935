import type { Database, Sql, Work } from "#db/client.ts";
import type { Membership, Scope } from "./context.ts";
import type { Log } from "./log.ts";

/** A property with what every request in it needs. */
export interface Property {
  id: string;
  name: string;
  slug: string;
  legal_name: string | null;
  postal_address: string | null;
  timezone: string;
  default_country: string;
  privacy_policy_url: string | null;
  responsible_gaming_footer: string | null;
  min_age: number;
  email_consent_mode: "opt_in" | "opt_out";
  revocation_scope: "all_channels_phone" | "channel";
  /** Whether opens and clicks are counted. */
  tracking: "on" | "off";
  /** Whether agents are shown what reaches people or cannot be taken back before it is done. */
  agent_confirmation: "on" | "off";
  from_email: string | null;
  from_name: string | null;
  pepper: Buffer;
}

export interface KeyRecord {
  id: string;
  property_id: string;
  scopes: Scope[];
  rate_limit: number;
  pii_masked: boolean;
  agent_confirmation: "on" | "off";
  is_active: boolean;
  /** Milliseconds since 1970, or null for never. */
  expires_at: number | null;
}

export interface UserRecord {
  id: string;
  email: string;
  is_platform_admin: boolean;
  /** Unix seconds: tokens issued before are refused. */
  sessions_from: number;
  memberships: Membership[];
}

const CHANNEL = "directory";
const CHECK_EVERY = 400;
const TRUSTED_FOR = 1_000;
const USED_EVERY = 5_000;
const MOST_ENTRIES = 50_000;
/** Those whose transaction, which runs now, changes what a directory keeps. */
const changing = new WeakSet<Sql>();

/**
 * Keys, users and properties, cached until one is changed here, or another process says so. A check every 400 ms
 * stands behind the notifications, and what was not checked within a second is read from the database.
 */
export async function openDirectory(db: Database, log: Log) {
  const memory = openMemory();
  const used = new Set<string>();
  const listeners = new Set<() => void>();
  const forget = () => {
    memory.forget();
    for (const hear of listeners) hear();
  };
  let version = -1;
  let clockOffset = 0;

  const check = async () => {
    const startedAt = performance.now();
    const [row] = await db.asSystem(
      (sql) => sql<{ version: number; now: number }[]>`
      select version, extract(epoch from clock_timestamp())::double precision * 1000 as now from directory_version`,
    );
    if (!row) return;
    if (row.version !== version) forget();
    version = row.version;
    clockOffset = row.now - performance.now();
    memory.checkedAt(startedAt);
  };
  const flushUsed = async () => {
    if (used.size === 0) return;
    const ids = [...used];
    used.clear();
    await db.asSystem((sql) => sql`update api_keys set last_used_at = now() where id = any(${ids}::uuid[])`);
  };
  const quietly = (work: () => Promise<void>) => () =>
    void work().catch((error: unknown) =>
      log.debug({ err: error }, "directory upkeep failed; it is tried again"),
    );

  await check();
  await db.listen(CHANNEL, forget, forget);
  const checking = setInterval(quietly(check), CHECK_EVERY);
  const using = setInterval(quietly(flushUsed), USED_EVERY);

  return {
    key: (hash: Buffer) => memory.recall(keyName(hash), () => db.asSystem((sql) => loadKey(sql, hash))),
    /** Whether there was such a key, or it is being looked for: whoever asks for it costs no look-up of their own. */
    hasSeenKey: (hash: Buffer): boolean => memory.hasSeen(keyName(hash)),
    property: (id: string) => memory.recall(`p${id}`, () => db.asSystem((sql) => loadProperty(sql, id))),
    user: (id: string) => memory.recall(`u${id}`, () => db.asSystem((sql) => loadUser(sql, id))),
    /** The database's clock, in milliseconds since 1970. */
    now: () => performance.now() + clockOffset,
    /** Notes that a key was used; written in batches. */
    markUsed: (keyId: string) => void used.add(keyId),
    /** The database by which a change is forgotten here before whoever made it is told that it is done. */
    forgetting: () => thatForgets(db, forget),
    /** Calls back whenever something may have been changed, here or by another process. */
    onChange: (hear: () => void) => void listeners.add(hear),
    close: async () => {
      clearInterval(checking);
      clearInterval(using);
      await flushUsed().catch((error: unknown) => log.warn({ err: error }, "last_used_at not written"));
    },
  };
}

/** What was loaded, for as long as it may be believed. */
function openMemory() {
  const cache = new Map<string, unknown>();
  const loading = new Map<string, { generation: number; value: Promise<unknown> }>();
  // Outlives what is forgotten: it says that there was such a thing, not that there is.
  const seen = new Set<string>();
  let generation = 0;
  let checked = Number.NEGATIVE_INFINITY;

  const keep = (name: string, value: unknown, since: number) => {
    if (seen.size >= MOST_ENTRIES) seen.clear();
    seen.add(name);
    if (generation !== since) return;
    if (cache.size >= MOST_ENTRIES) cache.clear();
    cache.set(name, value);
  };
  return {
    forget: () => {
      generation++;
      cache.clear();
    },
    checkedAt: (moment: number) => {
      checked = moment;
    },
    hasSeen: (name: string) => seen.has(name) || loading.get(name)?.generation === generation,
    recall: async <T>(name: string, load: () => Promise<T | null>): Promise<T | null> => {
      if (performance.now() - checked < TRUSTED_FOR) {
        const hit = cache.get(name);
        if (hit !== undefined) return hit as T;
      }
      const since = generation;
      const begun = loading.get(name);
      // What was begun before a change may know nothing of it.
      if (begun?.generation === since) return (await begun.value) as T | null;
      const value = load();
      loading.set(name, { generation: since, value });
      try {
        const loaded = await value;
        if (loaded !== null) keep(name, loaded, since);
        return loaded;
      } finally {
        if (loading.get(name)?.value === value) loading.delete(name);
      }
    },
  };
}

function thatForgets(db: Database, forget: () => void): Database {
  const run = async <T>(work: Work<T>, transact: (watched: Work<T>) => Promise<T>): Promise<T> => {
    let changed = false;
    try {
      return await transact((sql, last) =>
        work(sql, last).finally(() => {
          changed = changing.delete(sql);
        }),
      );
    } finally {
      // Also where nobody can tell whether it was committed.
      if (changed) forget();
    }
  };
  return {
    ...db,
    asProperty: (property, work, options) =>
      run(work, (watched) => db.asProperty(property, watched, options)),
    asSystem: (work, options) => run(work, (watched) => db.asSystem(watched, options)),
  };
}

export type Directory = Awaited<ReturnType<typeof openDirectory>>;

/** Tells this process and every other that a key, a user, a membership or a property changes with this transaction. */
export async function directoryChanged(sql: Sql): Promise<void> {
  changing.add(sql);
  await sql`update directory_version set version = version + 1`;
  await sql`select pg_notify(${CHANNEL}, '')`;
}

const keyName = (hash: Buffer) => `k${hash.toString("latin1")}`;

async function loadKey(sql: Sql, hash: Buffer): Promise<KeyRecord | null> {
  const [row] = await sql<KeyRecord[]>`
    select id, property_id, scopes, rate_limit, pii_masked, agent_confirmation, is_active,
      (extract(epoch from expires_at) * 1000)::double precision as expires_at
    from api_keys where key_hash = ${hash}`;
  return row ?? null;
}

async function loadProperty(sql: Sql, id: string): Promise<Property | null> {
  const [row] = await sql<Property[]>`
    select id, name, slug, legal_name, postal_address, timezone, default_country, privacy_policy_url,
      responsible_gaming_footer, min_age, email_consent_mode, revocation_scope, tracking, agent_confirmation,
      from_email, from_name, pepper
    from properties where id = ${id}`;
  return row ?? null;
}

async function loadUser(sql: Sql, id: string): Promise<UserRecord | null> {
  const [row] = await sql<UserRecord[]>`
    select u.id, u.email, u.is_platform_admin,
      coalesce(extract(epoch from u.sessions_from), 0)::double precision as sessions_from, coalesce((
      select jsonb_agg(jsonb_build_object('property_id', m.property_id, 'role', m.role))
      from memberships m where m.user_id = u.id), '[]') as memberships
    from users u where u.id = ${id} and u.is_active`;
  return row ?? null;
}
