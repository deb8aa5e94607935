import type { Database } from "#db/client.ts";
import type { Notice } from "#runtime/channels/channel.ts";
import { type BoundCallbacks, callbacksOf } from "#runtime/channels/index.ts";
import { Fault } from "#runtime/faults.ts";
import type { Service } from "#runtime/invoke.ts";
import { flush, type PendingJob } from "#runtime/outbox.ts";
import { clean } from "./notice.ts";
import { openCredentials, type VendorChannel } from "./provider.ts";
import receiveNotices from "./receive-notices.job.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const AT_ONCE = 200;

/** What reads the callbacks of one provider's record. */
export interface CallbackReader {
  id: string;
  propertyId: string;
  callbacks: BoundCallbacks;
}

interface Found {
  property_id: string;
  channel: VendorChannel;
  credentials: string;
}

/** The reader of the provider that an address names. Throws `not_found` for one that has no callbacks. */
export async function callbackReader(
  { db, config }: Pick<Service, "db" | "config">,
  kind: string,
  id: string,
): Promise<CallbackReader> {
  const [found] = UUID.test(id)
    ? await db.asSystem(
        (sql) => sql<Found[]>`
          select property_id, channel, credentials from message_providers
          where id = ${id} and kind = ${kind} and deleted_at is null limit 1`,
      )
    : [];
  const callbacks = found && bound(config, kind, id, found);
  if (!callbacks) throw new Fault("not_found", { message: "No provider has its callbacks here." });
  return { id, propertyId: found.property_id, callbacks };
}

/** What cannot be opened now may be later: the vendor is to try again. */
function bound(config: Service["config"], kind: string, id: string, found: Found): BoundCallbacks | null {
  try {
    const settings = openCredentials(config, found.property_id, { id, credentials: found.credentials });
    return callbacksOf(found.channel, kind, settings);
  } catch (cause) {
    throw new Fault("unavailable", { cause, retryAfter: 300 });
  }
}

/** Puts the notices that are new on the queue, in the transaction that remembers them. Answers whether there were any. */
export async function takeIn(
  db: Database,
  { id, propertyId }: CallbackReader,
  notices: readonly Notice[],
): Promise<boolean> {
  if (notices.length === 0) return false;
  const given = new Map(notices.map(clean).map((notice) => [notice.eventId, notice]));
  return db.asProperty(propertyId, async (sql) => {
    const fresh = await sql<{ event_id: string }[]>`
      insert into provider_notices (property_id, provider_id, event_id)
      select ${propertyId}, ${id}, event_id from unnest(${[...given.keys()]}::text[]) as event_id order by event_id
      on conflict do nothing returning event_id`;
    const taken = fresh.map(({ event_id }) => given.get(event_id)!);
    const jobs: PendingJob[] = [];
    for (let start = 0; start < taken.length; start += AT_ONCE) {
      const input = { providerId: id, notices: taken.slice(start, start + AT_ONCE) };
      jobs.push({ name: receiveNotices.name, attempts: receiveNotices.attempts, input });
    }
    if (jobs.length > 0) await flush(sql, propertyId, [], jobs);
    return jobs.length > 0;
  });
}
