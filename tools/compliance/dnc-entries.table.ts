import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { HASH_FORM } from "#db/query/forms.ts";
import { byteaLiteral } from "#db/types.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { createOnly, pastTime, readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type NewOf, table, type Values } from "#runtime/operation/table.ts";
import { type UntilRefused, untilRefused } from "#runtime/together.ts";
import { PHONE_FORM } from "#tools/people/address.ts";
import { STATE_FORM, stateOf } from "#tools/people/places.ts";
import { CHANNELS, type Channel } from "./channels.ts";
import type { BlockReason } from "./gate.ts";
import { addressOf, keptAddresses, type ListedAddress } from "./listed-address.ts";
import { stopSends } from "./sends-under-way.ts";

const DNC_LISTS = ["internal", "national", "state", "litigator", "reassigned", "wireless"] as const;

const columns = {
  phone: createOnly(
    z.string().min(1).max(60).nullable().describe("E.164, or as dialed in the property's country"),
    { form: PHONE_FORM },
  ),
  list: createOnly(z.enum(DNC_LISTS).default("internal").describe("The list that has the number")),
  state: writable(
    z.string().trim().min(1).max(40).nullish().describe("The state of a state's list, such as NV"),
    { vocabulary: true, form: STATE_FORM },
  ),
  source: writable(z.string().trim().min(1).max(200).nullish().describe("The origin of the entry"), {
    vocabulary: true,
  }),
  requested_at: writable(pastTime().optional().describe("When the person asked; not in the future")),
  expires_at: writable(timestamp().nullish().describe("When the entry ends. Default: it does not")),
  note: writable(z.string().max(2000).nullish().describe("For the staff")),
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
  beforeWrites,
  afterWrite,
});

type New = NewOf<typeof columns>;
type Writing = Exclude<Change<typeof columns>, { verb: "delete" }>;

async function beforeWrites(
  context: Context,
  changes: Change<typeof columns>[],
): Promise<UntilRefused<Values>> {
  const given = await untilRefused(changes as Writing[], (change) => {
    if (change.current) return { ...change, place: stateIn(change.input, change.current.phone) };
    const listed = numberOf(context, change.input);
    return { ...change, place: stateIn(change.input, listed.address), listed };
  });
  const ends = await endsOf(context, given.done);
  const known = await lockKnown(
    context,
    given.done.flatMap((one) => ("listed" in one ? one.listed : [])),
  );
  // In order, as lists show the records of an array by their ids.
  const ids = changes.map(() => randomUUIDv7()).toSorted();
  const checked = await untilRefused(given.done, (one, index) => {
    const { past, sooner } = ends[index]!;
    if (!("listed" in one)) {
      checkChange(context, one, { past, sooner });
      return { values: { ...one.input, ...one.place } };
    }
    if (past) throw invalid("expires_at", "has passed already");
    const { input, listed } = one;
    const name = nameOf(listed, input.list);
    const before = known.get(name);
    // A call that runs once more has the same inputs, and may find the entry gone.
    replacedBy.delete(input);
    if (before && !before.ended) throw listedAlready(input, before);
    if (before) replacedBy.set(input, before);
    const values = { ...input, ...one.place, id: ids[index]!, expires_at: input.expires_at ?? null };
    known.set(name, { ...values, ended: false });
    return { values, listed };
  });
  const fresh = checked.done.flatMap(({ values, listed }) => (listed ? [{ values, listed }] : []));
  await forget(context, changes);
  // With an end, open sends stay: they are judged again when they are due.
  const lasting = fresh.filter(({ values }) => values.expires_at === null);
  await stopSendsTo(context, lasting.filter(isReassigned), ["sms", "voice"], "reassigned_number");
  await stopSendsTo(
    context,
    lasting.filter((one) => !isReassigned(one)),
    CHANNELS,
    "dnc",
  );
  const phones = await keptAddresses(
    context,
    fresh.map(({ listed }) => listed),
  );
  for (const [index, { values, listed }] of fresh.entries())
    Object.assign(values, { phone: phones[index], phone_hash: listed.hash });
  return { done: checked.done.map(({ values }) => values), refusal: checked.refusal ?? given.refusal };
}

/** The state that `input` gives, in its stored form. Throws `invalid` for one that an American number cannot have. */
function stateIn({ state }: { state?: string | null | undefined }, phone: string | null): Values {
  if (!state) return {};
  const stored = stateOf(state, null);
  if (stored !== null) return { state: stored };
  if (!phone?.startsWith("+1")) return {};
  throw invalid("state", "must be a state of the US or Canada, by its code or name, such as FL");
}

const numberOf = ({ property }: Context, { phone }: New) =>
  addressOf(property, "voice", String(phone), "phone");

/** For each change, whether its end has passed, and whether it comes sooner than before. An end in the past would protect nobody. */
function endsOf({ sql }: Context, changes: readonly Writing[]) {
  const rows = changes.map(({ input, current }, n) => ({
    ...{ n, end: input.expires_at, was: current?.expires_at },
  }));
  return sql<{ past: boolean; sooner: boolean }[]>`
    select coalesce("end" <= now(), false) as past,
      coalesce("end", 'infinity') < coalesce(was, 'infinity') as sooner
    from jsonb_to_recordset(${rows}::jsonb) as g(n int, "end" timestamptz, was timestamptz)
    order by n`;
}

/** An earlier end lifts the entry silently, so it needs the permission to lift. */
function checkChange(
  { call, ask }: Context,
  { input, current }: Extract<Writing, { verb: "update" }>,
  { past, sooner }: { past: boolean; sooner: boolean },
): void {
  if (sooner && call.actor.type === "api_key") {
    throw new Fault("forbidden", {
      message:
        "expires_at: only a signed-in admin or manager of the property can let a do-not-call entry end sooner, and an API key may not.",
    });
  }
  if (past && input.expires_at !== current.expires_at) throw invalid("expires_at", "has passed already");
  if (!input.expires_at) return;
  const sentence = `The ${current.list} do-not-call entry of ${current.created_at} ends at ${input.expires_at}: from then on messages may go to its number.`;
  ask?.({ sentences: () => [sentence] });
}

/** An entry of a number on a list. */
interface Known {
  id: string;
  ended: boolean;
  requested_at?: string | undefined;
  expires_at: string | null;
}

const nameOf = ({ hash }: Pick<ListedAddress, "hash">, list: string) => `${hash.toString("hex")} ${list}`;

/** The entries of the numbers by `nameOf`, locked in one order. */
async function lockKnown(
  { sql, property }: Context,
  numbers: readonly ListedAddress[],
): Promise<Map<string, Known>> {
  if (numbers.length === 0) return new Map();
  const rows = await sql<(Known & { hash: Buffer; list: string })[]>`
    select id, requested_at, expires_at, coalesce(expires_at <= now(), false) as ended, phone_hash as hash, list
    from dnc_entries
    where property_id = ${property.id} and phone_hash = any(${hashesOf(numbers)}::bytea[])
    order by id for update`;
  return new Map(rows.map((row) => [nameOf(row, row.list), row]));
}

const hashesOf = (numbers: readonly ListedAddress[]) =>
  byteaLiteral(numbers.map(({ hash }) => hash.toString("hex")));

function listedAlready({ list }: New, { id, expires_at }: Known): Fault {
  const until = expires_at ? ` until ${expires_at}` : "";
  return new Fault("conflict", {
    message: `This number is already on the ${list} list${until}, as ${id}. Change that entry instead.`,
  });
}

/** By the input of a new entry, the one that has ended and bars nobody any more. */
const replacedBy = new WeakMap<object, Known>();

/** Removes the entries that new ones replace. */
async function forget({ sql, property }: Context, changes: readonly Change<typeof columns>[]): Promise<void> {
  const ids = changes.flatMap(({ input }) => replacedBy.get(input)?.id ?? []);
  if (ids.length === 0) return;
  await sql`delete from dnc_entries where property_id = ${property.id} and id = any(${ids}::uuid[])`;
}

/** The audit log keeps a replaced entry, as it keeps one that a manager lifts. */
async function afterWrite({ audit }: Context, { input }: Change<typeof columns>): Promise<void> {
  const replaced = replacedBy.get(input);
  if (!replaced) return;
  const { id, requested_at, expires_at } = replaced;
  audit({ diff: { replaced: { id, requested_at, expires_at } } });
}

interface Fresh {
  values: { list: string };
  listed: ListedAddress;
}

const isReassigned = ({ values }: Fresh) => values.list === "reassigned";

/** A listed number bars the players who have it, and not the players who share their email. */
async function stopSendsTo(
  context: Context,
  entries: readonly Fresh[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<void> {
  if (entries.length === 0) return;
  const { sql, property } = context;
  const holders = await sql<{ id: string }[]>`
    select id from players where property_id = ${property.id}
      and phone_hash = any(${hashesOf(entries.map(({ listed }) => listed))}::bytea[])`;
  const ids = holders.map(({ id }) => id);
  await stopSends(context, ids, channels, reason);
}
