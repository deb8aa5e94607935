import { isUuid } from "#db/text.ts";
import { type BoundCallbacks, callbacksOf } from "#runtime/channels/index.ts";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import { Fault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import type { Context } from "#runtime/operation/context.ts";
import { receiveInbound } from "#tools/sms/inbound.ts";
import { applyNotices } from "./apply-notices.ts";
import { takeCallNews } from "./call-news.ts";
import type { ProviderRecord } from "./columns.ts";
import { clean, isUrgent, putInForce } from "./notice.ts";
import { openCredentials, type VendorChannel } from "./provider.ts";
import receiveNotices from "./receive-notices.job.ts";
import { suppressAddresses } from "./suppress-addresses.ts";

const AT_ONCE = 200;

/** Reads the callbacks of one provider's record. */
export interface CallbackReader {
  id: string;
  propertyId: string;
  channel: VendorChannel;
  kind: string;
  callbacks: BoundCallbacks;
}

type Found = Pick<ProviderRecord, "property_id" | "channel" | "credentials">;

/** The callback reader of the provider in an address. Throws `not_found` for a provider without callbacks. */
export async function callbackReader(
  { db, config }: Pick<Service, "db" | "config">,
  kind: string,
  id: string,
): Promise<CallbackReader> {
  const [found] = isUuid(id)
    ? await db.asSystem(
        (sql) => sql<Found[]>`
          select property_id, channel, credentials from message_providers
          where id = ${id} and kind = ${kind} and deleted_at is null limit 1`,
      )
    : [];
  const callbacks = found && bound(config, kind, id, found);
  if (!callbacks) throw new Fault("not_found", { message: "No provider has its callbacks at this address." });
  return { id, propertyId: found.property_id, channel: found.channel, kind, callbacks };
}

/** Credentials that cannot be decrypted now may work later, so the vendor must try again. */
function bound(config: Service["config"], kind: string, id: string, found: Found): BoundCallbacks | null {
  try {
    const settings = openCredentials(config, found.property_id, { id, credentials: found.credentials });
    return callbacksOf(found.channel, kind, settings);
  } catch (cause) {
    throw new Fault("unavailable", { cause, retryAfter: 300 });
  }
}

/**
 * Stores the new notices. Requests to stop take effect before the vendor gets its answer; the rest goes on the queue,
 * in the same transaction. While somebody locks the players, all notices are queued and the addresses are barred at
 * once. No notice is lost, and none is acknowledged before it is in force.
 */
export async function takeIn(
  service: Service,
  reader: CallbackReader,
  notices: readonly Notice[],
): Promise<void> {
  if (notices.length === 0) return;
  const property = await service.directory.property(reader.propertyId);
  if (!property) throw new Fault("not_found", { message: "No provider has its callbacks at this address." });
  const given = [...new Map(notices.map(clean).map((notice) => [notice.eventId, notice])).values()];
  const urgent = given.filter(isUrgent).slice(0, AT_ONCE);
  const take = (now: readonly Notice[], bar = true) =>
    writeAsService(service, property, (context) => write(context, reader, { given, now, bar }));
  if (urgent.length === 0) return take([]);
  try {
    await take(urgent);
  } catch (error) {
    service.log.warn({ err: error, provider: reader.id }, "a notice waits for the queue");
    await take([]).catch(async (cause: unknown) => {
      // Not every vendor repeats an unanswered request. One that does gets its answer once the addresses are barred.
      await take([], false);
      throw new Fault("unavailable", { cause });
    });
  }
}

async function write(
  context: Context,
  reader: CallbackReader,
  { given, now: urgent, bar }: { given: readonly Notice[]; now: readonly Notice[]; bar: boolean },
): Promise<void> {
  const { sql, property, enqueue } = context;
  const { id, channel, kind } = reader;
  const rows = await sql<{ event_id: string }[]>`
    insert into provider_notices (property_id, provider_id, event_id, in_force)
    select ${property.id}, ${id}, event_id, ${bar} from unnest(${given.map(({ eventId }) => eventId)}::text[]) as event_id
    order by event_id
    on conflict do nothing returning event_id`;
  const fresh = new Set(rows.map(({ event_id }) => event_id));
  const now = urgent.filter(({ eventId }) => fresh.has(eventId));
  const later = given.filter((notice) => fresh.has(notice.eventId) && !now.includes(notice));
  for (let start = 0; start < later.length; start += AT_ONCE) {
    enqueue(receiveNotices, { providerId: id, notices: later.slice(start, start + AT_ONCE) });
  }
  if (bar) {
    const waiting = await putInForce(
      context,
      id,
      given.filter((notice) => !fresh.has(notice.eventId)),
    );
    await suppressAddresses(context, { id, channel, kind }, [...later, ...waiting].filter(isUrgent));
  }
  if (now.length > 0) await applyNotices(context, { id, channel, kind }, now);
  for (const notice of now) {
    if (notice.kind === "inbound") {
      await receiveInbound(context, notice, { provider: kind, providerId: id });
    }
    if (notice.kind === "call") await takeCallNews(context, { id, channel, kind }, notice);
  }
}
