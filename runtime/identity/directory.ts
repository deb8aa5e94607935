import { LRUCache } from "lru-cache";
import type { Database, Sql, Work } from "#db/database.ts";
import type { Log } from "#runtime/log.ts";
import type { Scope } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Membership } from "#runtime/roles.ts";

export interface KeyRecord {
  id: string;
  property_id: string;
  scopes: Scope[];
  rate_limit: number;
  pii_masked: boolean;
  agent_confirmation: "on" | "off";
  created_by: string | null;
  is_active: boolean;
  /** Milliseconds since 1970, or null for never. */
  expires_at: number | null;
}

export interface UserRecord {
  id: string;
  email: string;
  is_platform_admin: boolean;
  /** Unix seconds: tokens issued before this are refused. */
  sessions_from: number;
  /** The ids of their sessions that were ended by signing out, until their tokens expire. */
  ended_sessions: string[];
  memberships: Membership[];
}

const CHANNEL = "directory";
const CHECK_EVERY = 400;
const TRUSTED_FOR = 1_000;
const USED_EVERY = 5_000;
const MOST_ENTRIES = 50_000;
/** By size, because `max` takes the room of all entries at the start: 1.3 MB and 7 ms. */
const BOUND = { maxSize: MOST_ENTRIES, sizeCalculation: () => 1 };
/** Marks a missing entry, which the next call looks up again. */
const NOTHING = {};
/** Running transactions that change cached entries. */
const changing = new WeakSet<Sql>();

/**
 * Keys, users and properties, cached until this process or another one changes them. A check every 400 ms backs up
 * the notifications. An entry that was not checked within a second is read from the database.
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
  const clock = openClock();

  const check = async () => {
    const startedAt = performance.now();
    const [row] = await db.asSystem(
      (sql) => sql<{ version: number; now: number }[]>`
      select version, extract(epoch from clock_timestamp())::double precision * 1000 as now from directory_version`,
    );
    if (!row) return;
    if (row.version !== version) forget();
    version = row.version;
    clock.heard(row.now, { askedAt: startedAt, answeredAt: performance.now() });
    memory.checkedAt(startedAt);
  };
  const flushUsed = async () => {
    if (used.size === 0) return;
    // Sorted, so that two processes cannot wait for each other.
    const ids = [...used].sort();
    used.clear();
    await db.asSystem(
      (sql) => sql`
      insert into api_key_uses (api_key_id, last_used_at) select id, now() from unnest(${ids}::uuid[]) id
      on conflict (api_key_id) do update set last_used_at = excluded.last_used_at`,
    );
  };
  const quietly = (work: () => Promise<void>) => () =>
    void work().catch((error: unknown) =>
      log.debug({ err: error }, "the cache of keys and users is not up to date; retrying"),
    );

  await check();
  await db.listen(CHANNEL, forget, forget);
  const checking = setInterval(quietly(check), CHECK_EVERY);
  const using = setInterval(quietly(flushUsed), USED_EVERY);

  return {
    key: (hash: Buffer) => memory.recall(keyName(hash), () => db.asSystem((sql) => loadKey(sql, hash))),
    /** Whether such a key existed, or is being looked up: another call with it costs no look-up of its own. */
    hasSeenKey: (hash: Buffer): boolean => memory.hasSeen(keyName(hash)),
    property: (id: string) => memory.recall(`p${id}`, () => db.asSystem((sql) => loadProperty(sql, id))),
    /** The ids of all properties, oldest first. */
    properties: async (): Promise<string[]> =>
      (await memory.recall("all properties", () => db.asSystem(loadPropertyIds)))?.ids ?? [],
    user: (id: string) => memory.recall(`u${id}`, () => db.asSystem((sql) => loadUser(sql, id))),
    /** The database's clock, in milliseconds since 1970. */
    now: clock.now,
    /** Records that a key was used; written in batches. */
    markUsed: (keyId: string) => void used.add(keyId),
    /**
     * Wraps `db`: a transaction that changes keys, users or properties clears this cache before its caller gets the
     * answer.
     */
    forgetting: () => thatForgets(db, forget),
    /** Calls `listener` after each possible change, by this process or another one. */
    onChange: (listener: () => void) => void listeners.add(listener),
    close: async () => {
      clearInterval(checking);
      clearInterval(using);
      await flushUsed().catch((error: unknown) =>
        log.warn({ err: error }, "the last uses of API keys are not written"),
      );
    },
  };
}

/**
 * The database's clock. An answer names a time between the question and its arrival, which a busy process sees late.
 * So each answer only narrows the earlier estimate: alone it would set this clock back by its delay.
 */
function openClock() {
  let offset = Number.NEGATIVE_INFINITY;
  return {
    heard: (now: number, { askedAt, answeredAt }: { askedAt: number; answeredAt: number }) => {
      offset = Math.min(Math.max(offset, now - answeredAt), now - askedAt);
    },
    now: () => performance.now() + offset,
  };
}

/** Loaded entries, for as long as they are valid. */
function openMemory() {
  const cache = new LRUCache<string, object, () => Promise<object | null>>({
    ...BOUND,
    fetchMethod: async (_name, _stale, { context }) => (await context()) ?? NOTHING,
    // A load that began before a change may have missed it. Its callers get the result, and the cache drops it.
    ignoreFetchAbort: true,
  });
  // Survives a cleared cache: it says that an entry existed, not that it still does.
  const seen = new LRUCache<string, true>(BOUND);
  const loading = new Set<string>();
  let checked = Number.NEGATIVE_INFINITY;

  return {
    forget: () => {
      cache.clear();
      loading.clear();
    },
    checkedAt: (moment: number) => {
      checked = moment;
    },
    hasSeen: (name: string) => seen.has(name) || loading.has(name),
    recall: async <T extends object>(name: string, load: () => Promise<T | null>): Promise<T | null> => {
      const hit = performance.now() - checked < TRUSTED_FOR ? cache.get(name) : undefined;
      if (hit && hit !== NOTHING) return hit as T;
      loading.add(name);
      try {
        const found = await cache.fetch(name, { context: load, forceRefresh: true });
        if (found !== NOTHING) seen.set(name, true);
        else if (cache.peek(name) === NOTHING) cache.delete(name);
        return found === NOTHING ? null : (found as T);
      } finally {
        loading.delete(name);
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
      // Also when the commit's outcome is unknown.
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

/**
 * Announces to this process and every other that this transaction changes a key, a user, a membership or a property.
 */
export async function directoryChanged(sql: Sql): Promise<void> {
  changing.add(sql);
  await sql`update directory_version set version = version + 1`;
  await sql`select pg_notify(${CHANNEL}, '')`;
}

const keyName = (hash: Buffer) => `k${hash.toString("latin1")}`;

async function loadKey(sql: Sql, hash: Buffer): Promise<KeyRecord | null> {
  const [row] = await sql<KeyRecord[]>`
    select id, property_id, scopes, rate_limit, pii_masked, agent_confirmation, created_by, is_active,
      (extract(epoch from expires_at) * 1000)::double precision as expires_at
    from api_keys where key_hash = ${hash}`;
  return row ?? null;
}

async function loadProperty(sql: Sql, id: string): Promise<Property | null> {
  const [row] = await sql<Property[]>`
    select id, name, slug, legal_name, postal_address, timezone, default_country, privacy_policy_url,
      responsible_gaming_footer, min_age, email_consent_mode, revocation_scope, tracking, agent_confirmation,
      from_email, from_name, approval_growth_percent, approval_over_players, approval_over_cost,
      approval_four_eyes, mask_for_analysts, pepper
    from properties where id = ${id}`;
  return row ?? null;
}

async function loadPropertyIds(sql: Sql): Promise<{ ids: string[] }> {
  const rows = await sql<{ id: string }[]>`select id from properties order by created_at, id limit 1000`;
  return { ids: rows.map(({ id }) => id) };
}

async function loadUser(sql: Sql, id: string): Promise<UserRecord | null> {
  const [row] = await sql<UserRecord[]>`
    select u.id, u.email, u.is_platform_admin,
      coalesce(extract(epoch from u.sessions_from), 0)::double precision as sessions_from, coalesce((
      select jsonb_agg(jsonb_build_object('property_id', m.property_id, 'role', m.role))
      from memberships m where m.user_id = u.id), '[]') as memberships,
      array(select e.id from ended_sessions e where e.user_id = u.id and e.expires_at > now()) as ended_sessions
    from users u where u.id = ${id} and u.is_active`;
  return row ?? null;
}
