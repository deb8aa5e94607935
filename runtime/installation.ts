import { createHmac, timingSafeEqual } from "node:crypto";
import type { Database, Sql } from "#db/database.ts";
import { type AppSecret, ConfigError } from "./config.ts";

/** Sending is held, because another database answers than the one that it was released for. */
export interface Hold {
  /** When a start first saw this database. */
  since: string;
  /** The newest record that it had then: later records of the original are missing. Null for an empty database. */
  dataUntil: string | null;
}

interface Installation {
  secret_fingerprint: string;
  is_open: boolean;
  held_since: string;
  data_until: string | null;
}

/**
 * Opens the installation with this APP_SECRET, of which the first start leaves a fingerprint. Answers why sending is
 * held, or null. Throws ConfigError for another secret.
 */
export async function enterInstallation(
  db: Pick<Database, "asSystem">,
  { appSecret }: AppSecret,
): Promise<Hold | null> {
  const fingerprint = fingerprintOf(appSecret);
  const [found] = await db.asSystem(async (sql) => {
    await sql`
      update installation set secret_fingerprint = ${fingerprint} where secret_fingerprint is null`;
    const [unseen] = await sql`
      select from installation
      where not sending_is_open() and held_identity is distinct from database_identity()
      for no key update`;
    if (unseen) {
      await sql`
        update installation set held_identity = database_identity(), held_since = clock_timestamp(),
          data_until = ${await newestRecord(sql)}::timestamptz`;
    }
    return sql<Installation[]>`
      select secret_fingerprint, sending_is_open() as is_open, to_json(held_since) #>> '{}' as held_since,
        to_json(data_until) #>> '{}' as data_until
      from installation`;
  });
  if (!timingSafeEqual(Buffer.from(found!.secret_fingerprint), Buffer.from(fingerprint))) {
    throw new ConfigError(
      "APP_SECRET: not the one that this database was used with. Links in sent mail, seals and stored credentials need that one. Start with the secret from before.",
    );
  }
  return found!.is_open ? null : { since: found!.held_since, dataUntil: found!.data_until };
}

/** When the newest audit row of any property was written. */
async function newestRecord(sql: Sql): Promise<string | null> {
  const times: string[] = [];
  for (const { id } of await sql<{ id: string }[]>`select id from properties`) {
    const [newest] = await sql<{ at: string }[]>`
      select created_at as at from audit_logs where property_id = ${id} order by created_at desc limit 1`;
    if (newest) times.push(newest.at);
  }
  return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
}

/** Tells one APP_SECRET from another, and shows nothing of it. */
export function fingerprintOf(appSecret: string): string {
  return createHmac("sha256", appSecret).update("installation").digest("hex");
}
