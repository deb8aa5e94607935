import { z } from "zod";
import { HASH_FORM } from "#db/query/forms.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { createOnly, pastTime, readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type RowOf, table, type Values } from "#runtime/operation/table.ts";
import { PHONE_FORM } from "#tools/people/address.ts";
import { CHANNELS } from "./channels.ts";
import { addressOf, keptAddress } from "./listed-address.ts";
import { stopSends } from "./sends-under-way.ts";

export const DNC_LISTS = ["internal", "national", "state", "litigator", "reassigned", "wireless"] as const;

const columns = {
  phone: createOnly(
    z.string().min(1).max(60).nullable().describe("E.164, or as dialed in the property's country"),
    { form: PHONE_FORM },
  ),
  list: createOnly(z.enum(DNC_LISTS).default("internal").describe("The list that has the number")),
  state: writable(
    z.string().trim().min(1).max(40).nullish().describe("The state of a state's list, such as NV"),
    { vocabulary: true },
  ),
  source: writable(z.string().trim().min(1).max(200).nullish().describe("The origin of the entry"), {
    vocabulary: true,
  }),
  requested_at: writable(pastTime().optional().describe("When the person asked; not in the future")),
  expires_at: writable(timestamp().nullish().describe("When the entry ends. Default: it does not")),
  note: writable(z.string().max(2000).nullish()),
  phone_hash: readable(z.string(), { form: HASH_FORM, sql: "encode(phone_hash, 'hex')" }),
};

export default table({
  name: "dnc_entries",
  noun: "dnc_entry",
  description:
    "A do-not-call entry bars messages to the players with a phone number; each list has its own entry. Every list bars every channel, except reassigned: it bars calls and texts, because another person may have the number now. Only a signed-in admin or manager can lift an entry or let it end sooner.",
  own: ["delete"],
  asks: ["update"],
  columns,
  beforeWrite,
});

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change<typeof columns>,
): Promise<Values> {
  if (verb !== "create") {
    await checkEnd(context, current, input.expires_at);
    if (input.expires_at !== current.expires_at) await checkNotPast(context, input.expires_at);
    if (input.expires_at) {
      const sentence = `The ${current?.list} do-not-call entry of ${current?.created_at} ends at ${input.expires_at}: from then on messages may go to its number.`;
      context.ask?.({ sentences: () => [sentence] });
    }
    return input;
  }
  const { sql, property } = context;
  const listed = addressOf(property, "voice", String(input.phone), "phone");
  const { hash } = listed;
  await checkNotPast(context, input.expires_at);
  const known = await sql<{ id: string; ended: boolean; requested_at: string; expires_at: string | null }[]>`
    select id, requested_at, expires_at, expires_at is not null and expires_at <= now() as ended from dnc_entries
    where property_id = ${property.id} and phone_hash = ${hash} and list = ${input.list} for update`;
  const [before] = known;
  if (before && !before.ended) {
    const until = before.expires_at ? ` until ${before.expires_at}` : "";
    throw new Fault("conflict", {
      message: `This number is already on the ${input.list} list${until}, as ${before.id}. Change that entry instead.`,
    });
  }
  if (before) {
    // It bars nobody any more. The audit log keeps it, as it keeps one that a manager lifts.
    await sql`delete from dnc_entries where property_id = ${property.id} and id = ${before.id}`;
    const { id, requested_at, expires_at } = before;
    context.audit({ diff: { replaced: { id, requested_at, expires_at } } });
  }
  // With an end, open sends stay: they are judged again when they are due.
  if (input.expires_at == null) await stopSendsTo(context, hash, input.list === "reassigned");
  return { ...input, phone: await keptAddress(context, listed), phone_hash: hash };
}

/** An end in the past would protect nobody, and look like an entry. */
async function checkNotPast({ sql }: Context, end: string | null | undefined): Promise<void> {
  if (end === undefined || end === null) return;
  const [row] = await sql<{ past: boolean }[]>`select ${end}::timestamptz <= now() as past`;
  if (row?.past) throw invalid("expires_at", "has passed already");
}

/** A listed number bars the players who have it, and not the players who share their email. */
async function stopSendsTo(context: Context, hash: Buffer, isReassigned: boolean): Promise<void> {
  const { sql, property } = context;
  const holders = await sql<{ id: string }[]>`
    select id from players where property_id = ${property.id} and phone_hash = ${hash}`;
  const ids = holders.map(({ id }) => id);
  if (isReassigned) await stopSends(context, ids, ["sms", "voice"], "reassigned_number");
  else await stopSends(context, ids, CHANNELS, "dnc");
}

/** An earlier end lifts the entry silently, so it needs the permission to lift. */
async function checkEnd(
  { sql, call }: Context,
  { expires_at: was }: RowOf<typeof columns>,
  end: string | null | undefined,
): Promise<void> {
  if (end === undefined || end === null || call.actor.type !== "api_key") return;
  const [row] = await sql<{ sooner: boolean }[]>`
    select ${end}::timestamptz < coalesce(${was}::timestamptz, 'infinity') as sooner`;
  if (!row?.sooner) return;
  throw new Fault("forbidden", {
    message:
      "expires_at: an API key cannot let a do-not-call entry end sooner. A signed-in admin or manager of the property can.",
  });
}
