import { z } from "zod";
import { timestamp } from "#runtime/columns.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Context, tool } from "#runtime/operation.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/players/address.ts";
import {
  asFragment,
  BLOCK_REASONS,
  type BlockReason,
  CHANNELS,
  type Channel,
  gateReasons,
  strangerText,
} from "./gate.ts";

const MOST_CHECKED = 1000;
const phone = z.string().max(60);
const email = z.string().max(320);

const reasons = z.array(z.enum(Object.keys(BLOCK_REASONS) as BlockReason[]));

const Result = z.object({
  phone: z.string().optional(),
  email: z.string().optional(),
  player_id: z.uuid().nullable().describe("The player's id; null when no player has the address"),
  allowed: z.boolean(),
  reasons,
  checked_at: timestamp(),
});

export default tool({
  name: "compliance_check",
  title: "Check whether players may be contacted",
  description:
    "Says for each phone, email or player whether a message on the channel may go now, and every reason why not. The same gate stands before every send. Where several players share an address, the most restricted one counts.",
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
    const results = verdicts.map((verdict, index) => ({ ...asked[index]!.shown, ...verdict }));
    const union = [...new Set(results.flatMap((result) => result.reasons))].sort();
    return { allowed: union.length === 0, reasons: union, results };
  },
});

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
      join players p on p.property_id = ${property.id} and p.id = a.player and p.deleted_at is null
    ), found as materialized (
      select h.place, h.id, g.reasons from holder h, lateral (
        select ${gate} as reasons from players p where p.property_id = ${property.id} and p.id = h.id offset 0) g
    ), strictest as (
      select distinct on (place) place, id, reasons from found order by place, cardinality(reasons) desc, id
    ), verdict as (
      select a.place, coalesce(s.id, a.player) as player_id,
        case when s.place is not null then s.reasons
          when a.player is not null then array['no_consent']
          else ${stranger} end as reasons
      from asked a left join strictest s on s.place = a.place
    )
    select player_id, reasons = '{}' as allowed, reasons, to_json(now()) #>> '{}' as checked_at
    from verdict order by place`;
}
