import { z } from "zod";
import { timestamp } from "#runtime/columns.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Context, tool } from "#runtime/operation.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/players/address.ts";
import { capsText } from "./frequency.ts";
import {
  asFragment,
  BLOCK_REASONS,
  type BlockReason,
  CHANNELS,
  type Channel,
  gateReasons,
  strangerText,
} from "./gate.ts";
import { DEFER_REASONS, type DeferReason, hoursText, nextOpening } from "./hours.ts";

const MOST_CHECKED = 1000;
const phone = z.string().max(60);
const email = z.string().max(320);

const reasons = z.array(z.enum(Object.keys(BLOCK_REASONS) as BlockReason[]));
const deferReasons = z.array(z.enum(Object.keys(DEFER_REASONS) as DeferReason[]));
const retryAt = timestamp()
  .nullable()
  .describe("The first instant at which it may go; null when none is known");

const Result = z.object({
  phone: z.string().optional(),
  email: z.string().optional(),
  player_id: z.uuid().nullable().describe("The player's id; null when no player has the address"),
  allowed: z.boolean(),
  reasons,
  defer_reasons: deferReasons.optional().describe("Why it would wait; only when it would"),
  retry_at: retryAt.optional(),
  checked_at: timestamp(),
});

export default tool({
  name: "compliance_check",
  title: "Check whether players may be contacted",
  description:
    "Says for each phone, email or player whether a message on the channel may go now, and every reason why not. What only postpones a message, quiet hours where the player is and frequency rules, stands in defer and leaves allowed as it is. The same gate stands before every send. Where several players share an address, the most restricted one counts.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    channel: z.enum(CHANNELS),
    phone: phone.optional(),
    phones: z
      .array(phone)
      .max(MOST_CHECKED)
      .optional()
      .describe("A bulk check: one result each, in this order"),
    email: email.optional(),
    emails: z.array(email).max(MOST_CHECKED).optional().describe("A bulk check by email"),
    playerId: z.uuid().optional().describe("A player's id, from list_players"),
    playerIds: z
      .array(z.uuid())
      .max(MOST_CHECKED)
      .optional()
      .describe("A bulk check of players, by the ids of list_players"),
    at: timestamp().optional().describe("Evaluate for this time instead of now"),
  },
  output: z.object({
    allowed: z.boolean().describe("True when every result is allowed"),
    reasons: reasons.describe("Of all results together"),
    defer: z
      .object({ reasons: deferReasons, retry_at: retryAt })
      .optional()
      .describe("Only when a result would wait: why, and from when on all of them may go"),
    results: z.array(Result).describe("In the order asked: phones, emails, players"),
  }),
  faults: ["invalid"],
  async handler(context, { channel, at, ...given }) {
    const asked = questions(context, given);
    if (asked.length === 0)
      throw invalid("phone", "give phone, phones, email, emails, playerId or playerIds");
    if (asked.length > MOST_CHECKED) {
      throw new Fault("invalid", {
        message: `${asked.length} are asked about; ${MOST_CHECKED} at the most in one call.`,
      });
    }
    const verdicts = await judge(context, channel, asked, at);
    const results = verdicts.map(({ defer_reasons, retry_at, ...verdict }, index) => ({
      ...asked[index]!.shown,
      ...verdict,
      ...(defer_reasons.length > 0 && { defer_reasons, retry_at }),
    }));
    const union = unionOf(results.map((result) => result.reasons));
    const defer = deferOf(verdicts.filter((verdict) => verdict.defer_reasons.length > 0));
    return { allowed: union.length === 0, reasons: union, ...(defer && { defer }), results };
  },
});

function unionOf<T extends string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort();
}

function deferOf(waiting: Verdict[]) {
  if (waiting.length === 0) return null;
  const times = waiting.map((verdict) => verdict.retry_at).sort();
  return {
    reasons: unionOf(waiting.map((verdict) => verdict.defer_reasons)),
    retry_at: times.includes(null) ? null : times.at(-1)!,
  };
}

interface Question {
  /** The field as it was asked. */
  shown: { phone?: string; email?: string };
  address: string | null;
  hash: string | null;
  player: string | null;
}

interface Given {
  phone?: string | undefined;
  phones?: string[] | undefined;
  email?: string | undefined;
  emails?: string[] | undefined;
  playerId?: string | undefined;
  playerIds?: string[] | undefined;
}

function questions({ property }: Context, given: Given): Question[] {
  const all = <T>(one: T | undefined, many: T[] | undefined): T[] => [
    ...(one === undefined ? [] : [one]),
    ...(many ?? []),
  ];
  const ask = (shown: Question["shown"], address: string | null): Question => {
    const hash = address === null ? null : addressHash(property.pepper, address).toString("hex");
    return { shown, address, hash, player: null };
  };
  return [
    ...all(given.phone, given.phones).map((text) =>
      ask({ phone: text }, normalizePhone(text, property.default_country)),
    ),
    ...all(given.email, given.emails).map((text) => ask({ email: text }, normalizeEmail(text))),
    ...all(given.playerId, given.playerIds).map((id) => ({
      shown: {},
      address: null,
      hash: null,
      player: id,
    })),
  ];
}

interface Verdict {
  player_id: string | null;
  allowed: boolean;
  reasons: BlockReason[];
  defer_reasons: DeferReason[];
  retry_at: string | null;
  checked_at: string;
}

/**
 * One statement for all of them, in their order. The gate stands in a lateral subquery, so that the planner
 * probes for these few players and does not read all of them, or whole lists.
 */
async function judge(
  { sql, property }: Context,
  channel: Channel,
  asked: Question[],
  at: string | undefined,
): Promise<Verdict[]> {
  const gate = gateReasons(sql, { property, channel, at });
  const stranger = asFragment(sql, (bind) => strangerText(bind, { property, channel, at }, "a.hash"));
  const options = { property, channel, at };
  const waits = asFragment(
    sql,
    (bind) =>
      `${hoursText(bind, options, "subject")}, ${capsText(bind, { ...options, tags: [] }, "subject")}`,
  );
  const moment = at === undefined ? sql`statement_timestamp()` : sql`${at}::timestamptz`;
  return sql<Verdict[]>`
    with asked as materialized (
      select place, address, decode(hash, 'hex') as hash, player
      from unnest(${asked.map((one) => one.address)}::text[], ${asked.map((one) => one.hash)}::text[],
        ${asked.map((one) => one.player)}::uuid[]) with ordinality as a(address, hash, player, place)
    ), holder as materialized (
      select a.place, p.id from asked a
      join players p on p.property_id = ${property.id} and p.phone_hash = a.hash and p.deleted_at is null
      union all
      select a.place, p.id from asked a
      join players p on p.property_id = ${property.id} and p.email_hash = a.hash and p.deleted_at is null
      union all
      select a.place, p.id from asked a
      join players p on p.property_id = ${property.id} and p.id = a.player
        and (p.deleted_at is null or p.status = 'erased')
    ), found as materialized (
      select h.place, h.id, g.* from holder h, lateral (
        select ${gate} as reasons, p.zones, p.region from players p where p.property_id = ${property.id} and p.id = h.id offset 0) g
    ), strictest as (
      select distinct on (place) place, id, reasons from found order by place, cardinality(reasons) desc, id
    ), subject as materialized (
      select place, id, zones, region from found
      union all
      select a.place, null, player_zones(null, null, null, null, a.address), player_region(null, null, null, a.address)
      from asked a where not exists (select from found f where f.place = a.place)
    ), ${waits}, waiting as (
      select s.place, bool_or(not h.is_open) as is_quiet, bool_or(c.free_at is not null) as is_capped,
        max(coalesce(n.next, 'infinity')) as retry_at
      from subject s
        left join hours h on h.zones = s.zones and h.region = s.region
        left join caps c on c.id = s.id
        cross join lateral (select greatest(${moment}, c.free_at) as from_) b
        cross join lateral (select ${sql.unsafe(nextOpening("h.open", "b.from_"))} as next) n
      where not h.is_open or c.free_at is not null
      group by s.place
    ), verdict as (
      select a.place, coalesce(s.id, a.player) as player_id,
        case when s.place is not null then s.reasons
          when a.player is not null then array['no_consent']
          else ${stranger} end as reasons
      from asked a left join strictest s on s.place = a.place
    )
    select player_id, reasons = '{}' as allowed, reasons,
      array_remove(array[case when is_capped then 'frequency_capped' end, case when is_quiet then 'quiet_hours' end],
        null) as defer_reasons,
      case when retry_at < 'infinity' then to_json(retry_at) #>> '{}' end as retry_at,
      to_json(now()) #>> '{}' as checked_at
    from verdict left join waiting using (place) order by place`;
}
