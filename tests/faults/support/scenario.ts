import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { newSigningSecret } from "#runtime/secrets/signature.ts";
import { pads } from "#tools/people/address.ts";

interface Tenant {
  id: string;
  key: string;
  pepper: Buffer;
}

/** Two properties with the same people: one to work in, and a rival that must not notice. */
export interface Scenario {
  sql: postgres.Sql;
  id: string;
  key: string;
  /** Players p1@example.com and so on, in both; in ours one in five may not be sent to. Answers who may. */
  crowd(count: number): Promise<string[]>;
  /** A key of ours; its secret and its id. */
  newKey(rateLimit: number): Promise<{ secret: string; id: string }>;
  /** A receiver of all events; asleep, its deliveries are written and not posted. */
  endpoint(url: string, options?: { asleep: boolean }): Promise<{ secret: string }>;
  /** A campaign to everyone, not sent yet. */
  campaign(fields?: { ab_test: object }): Promise<string>;
  /** Rows that the rival should not have. */
  foreign(): Promise<number>;
  close(): Promise<void>;
}

export async function openScenario(url: string): Promise<Scenario> {
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  const ours = await newTenant(sql);
  const rival = await newTenant(sql);
  let rivals = 0;
  return {
    sql,
    id: ours.id,
    key: ours.key,
    crowd: async (count) => {
      rivals += await addCrowd(sql, rival, count, 0);
      await addCrowd(sql, ours, count, 5);
      await sql`
        insert into suppressions (property_id, channel, address_hash, reason)
        select property_id, 'email', email_hash, 'manual' from players
        where property_id = ${ours.id} and split_part(player_id, '-', 2)::int % 10 = 7 returning 1`;
      await sql.unsafe("analyze players");
      return Array.from({ length: count }, (_, index) => index + 1)
        .filter((n) => n % 5 !== 0 && n % 10 !== 7)
        .map((n) => `p${n}@example.com`);
    },
    newKey: (rateLimit) => addKey(sql, ours.id, rateLimit),
    endpoint: async (receiver, { asleep } = { asleep: false }) => {
      const secret = newSigningSecret();
      await sql`
        insert into webhook_endpoints (property_id, url, events, secret, resting_until)
        values (${ours.id}, ${receiver}, '{*}', ${secret}, case when ${asleep}::boolean then timestamptz '9999-01-01' end)`;
      return { secret };
    },
    campaign: async ({ ab_test } = { ab_test: null as never }) => {
      const [row] = await sql<{ id: string }[]>`
        insert into campaigns (property_id, name, audience, subject, body_html, ab_test)
        values (${ours.id}, 'Weekend', 'all', 'Hello {{ first_name }}', '<p>Double points, {{ first_name }}.</p>',
          ${ab_test as never}::jsonb)
        returning id`;
      return row!.id;
    },
    foreign: async () => foreignRows(sql, rival.id, rivals),
    close: () => sql.end(),
  };
}

async function newTenant(sql: postgres.Sql): Promise<Tenant> {
  const name = `p-${randomUUID().slice(0, 8)}`;
  const [row] = await sql<{ id: string; pepper: Buffer }[]>`
    insert into properties (name, slug, legal_name, postal_address, from_email)
    values (${name}, ${name}, 'Casino LLC', '1 Main Street, Reno, NV 89501', 'offers@casino.example')
    returning id, pepper`;
  const { secret } = await addKey(sql, row!.id, 1_000_000);
  return { ...row!, key: secret };
}

async function addKey(sql: postgres.Sql, property: string, rateLimit: number) {
  const { secret, prefix, hash } = newApiKey();
  const [key] = await sql<{ id: string }[]>`
    insert into api_keys (property_id, name, key_prefix, key_hash, rate_limit)
    values (${property}, 'fault', ${prefix}, ${hash}, ${rateLimit}) returning id`;
  return { secret, id: key!.id };
}

/** `without`: each so-many-th player has not consented; 0 for none. */
async function addCrowd(sql: postgres.Sql, tenant: Tenant, count: number, without: number): Promise<number> {
  const { inner, outer } = pads(tenant.pepper);
  const result = await sql`
    insert into players (property_id, player_id, email, email_hash, first_name, consents)
    select ${tenant.id}, 'P-' || n, 'p' || n || '@example.com',
      address_hash(${inner}, ${outer}, 'p' || n || '@example.com'), 'Ana',
      case when n % nullif(${without}::int, 0) = 0 then '{}'::jsonb else '{"email": true}' end
    from generate_series(1, ${count}::int) n returning 1`;
  return result.count;
}

const UNTOUCHED = [
  "campaign_sends",
  "mailbox_messages",
  "outbox",
  "webhook_backlog",
  "webhook_deliveries",
  "import_jobs",
  "import_errors",
  "idempotency_records",
  "consent_records",
  "suppressions",
];

async function foreignRows(sql: postgres.Sql, rival: string, players: number): Promise<number> {
  const counts = UNTOUCHED.map((table) => `(select count(*)::int from ${table} where property_id = $1)`);
  const [row] = await sql.unsafe<[{ rows: number; players: number }]>(
    `select ${counts.join(" + ")} as rows, (select count(*)::int from players where property_id = $1) as players`,
    [rival],
  );
  return row.rows + Math.abs(row.players - players);
}
