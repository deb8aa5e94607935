import { z } from "zod";
import { HASH_FORM } from "#db/query/forms.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { createOnly, readable, timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type NewOf, table, type Values } from "#runtime/operation/table.ts";
import { type UntilRefused, untilRefused } from "#runtime/together.ts";
import { ADDRESS_FORM } from "#tools/people/address.ts";
import { CHANNELS } from "./channels.ts";
import { ENDS_WITH_STATUS } from "./left-addresses.ts";
import { addressOf, keptAddresses, type ListedAddress } from "./listed-address.ts";
import { stopAddressSends } from "./sends-under-way.ts";

const SUPPRESSION_REASONS = [
  "unsubscribed",
  "stop_keyword",
  "hard_bounce",
  "soft_bounce_limit",
  "complaint",
  "invalid",
  "manual",
  "erased",
  "self_excluded",
  "import",
  "needs_review",
  "banned",
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/**
 * The reason of an address that a banned or deceased player's record had before. After an erasure, that of the person's
 * player_id too. Only the service writes it.
 */
const BANNED: SuppressionReason = "banned";

/** Reasons that only the service writes, and nobody lifts. */
export const PERMANENT_REASONS: readonly SuppressionReason[] = ["erased", "self_excluded"];

const columns = {
  channel: createOnly(z.enum(["all", ...CHANNELS]).describe("The channel that is barred"), { concise: true }),
  address: createOnly(z.string().min(1).max(320).nullable().describe("An email address or a phone number"), {
    concise: true,
    form: ADDRESS_FORM,
  }),
  reason: createOnly(z.enum(SUPPRESSION_REASONS).default("manual").describe("Why it is barred"), {
    concise: true,
  }),
  source: createOnly(z.string().trim().min(1).max(200).nullish().describe("The origin of the suppression"), {
    concise: true,
    vocabulary: true,
  }),
  expires_at: createOnly(timestamp().nullish().describe("When it ends. Default: it does not"), {
    concise: true,
  }),
  address_hash: readable(z.string(), { form: HASH_FORM, sql: "encode(address_hash, 'hex')" }),
  campaign_id: readable(z.uuid().nullable()),
  player_id: readable(z.uuid().nullable(), { concise: true }),
  lifted_at: readable(timestamp().nullable(), { concise: true }),
  lifted_by: readable(z.uuid().nullable()),
};

export default table({
  name: "suppressions",
  noun: "suppression",
  description:
    "A suppression blocks an address on a channel, or on all. It is never removed: deleting one lifts it and keeps it as evidence.",
  verbs: ["list", "get", "create"],
  events: { create: "player.suppressed" },
  columns,
  beforeWrites,
});

type New = NewOf<typeof columns>;

interface Listed {
  input: New;
  listed: ListedAddress;
}

async function beforeWrites(
  context: Context,
  changes: Change<typeof columns>[],
): Promise<UntilRefused<Values>> {
  const inputs = changes.flatMap(({ verb, input }) => (verb === "create" ? [input] : []));
  const given = await untilRefused(inputs, (input) => ({ input, listed: listedBy(context, input) }));
  const states = await statesOf(context, given.done);
  const before = new Set<string>();
  const fresh = await untilRefused(given.done, (one, index) => {
    const { channel, reason } = one.input;
    if (states[index]!.late) throw invalid("expires_at", "has passed already");
    const name = `${one.listed.hash.toString("hex")} ${channel} ${reason}`;
    if (states[index]!.active || before.has(name)) {
      throw new Fault("conflict", { message: `This address is already suppressed (${channel}, ${reason}).` });
    }
    before.add(name);
    return one;
  });
  await stopSendsTo(context, fresh.done);
  const kept = await keptAddresses(
    context,
    fresh.done.map(({ listed }) => listed),
  );
  const done = fresh.done.map(({ input, listed }, index) => ({
    ...input,
    address: kept[index],
    address_hash: listed.hash,
  }));
  return { done, refusal: fresh.refusal ?? given.refusal };
}

function listedBy({ property }: Context, { channel, address, reason }: New): ListedAddress {
  if (address === null) throw invalid("address", "must be an email address or a phone number");
  if (PERMANENT_REASONS.includes(reason)) {
    throw invalid("reason", `cannot be ${reason} here; use data_deletion or create_self_exclusion`);
  }
  if (reason === BANNED) throw invalid("reason", "cannot be banned here; use set_player_status");
  return addressOf(property, channel, address);
}

/** A suppression without an end takes the place of one that ends with a player's hold: that one is lifted. */
async function statesOf({ sql, property }: Context, given: readonly Listed[]) {
  const rows = given.map(({ input: { channel, reason, expires_at = null }, listed }, n) => ({
    ...{ n, channel, reason, expires_at },
    hash: `\\x${listed.hash.toString("hex")}`,
  }));
  return sql<{ late: boolean; active: boolean }[]>`
    with clock as materialized (select now() as moment), given as materialized (
      select * from jsonb_to_recordset(${rows}::jsonb)
        as g(n int, hash bytea, channel text, reason text, expires_at timestamptz)
    ), active as materialized (
      select g.n, s.id, coalesce(s.expires_at <= clock.moment, false)
        or g.expires_at is null and ${ENDS_WITH_STATUS} as yields
      from clock, given g join suppressions s on s.property_id = ${property.id} and s.address_hash = g.hash
        and s.channel = g.channel and s.reason = g.reason and s.lifted_at is null
    ), ended as (
      update suppressions s set lifted_at = least(s.expires_at, clock.moment), updated_at = clock.moment
      from (select distinct id from active where yields) a, clock
      where s.property_id = ${property.id} and s.id = a.id)
    select coalesce(g.expires_at <= clock.moment, false) as late,
      exists (select from active a where a.n = g.n and not a.yields) as active
    from given g, clock order by g.n`;
}

/** With an end, open sends stay: they are judged again when they are due. */
async function stopSendsTo(context: Context, given: readonly Listed[]): Promise<void> {
  const lasting = given.filter(
    ({ input }) => (input.expires_at ?? null) === null && input.reason !== "needs_review",
  );
  for (const [channel, those] of Map.groupBy(lasting, ({ input }) => input.channel)) {
    const channels = CHANNELS.filter((one) => channel === "all" || one === channel);
    const hashes = those.map(({ listed }) => listed.hash);
    await stopAddressSends(context, hashes, channels, "suppressed");
  }
}
