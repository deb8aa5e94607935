import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { sql } from "#db/sql.ts";
import { isUuid } from "#db/text.ts";
import { one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { grantTickets, mayPlay } from "#tools/games/tickets/grant.ts";
import { isOwnDevice } from "./devices.ts";

const REFUSALS = [
  "own_link",
  "own_address",
  "own_device",
  "counted_before",
  "no_play_or_sign_up",
  "barred",
] as const;
type Refusal = (typeof REFUSALS)[number];

export default tool({
  name: "record_referral",
  title: "Record a referral",
  description:
    "Counts a person who came by a shared link and has joined, or played the shared game, since. Once a person, and never with an address or a browser of the sharer. The game's share_reward may give the sharer tickets.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    shareId: z.uuid().describe("From list_social_shares, or the parameter share of the casino's own page"),
    playerId: z.uuid().describe("The person who came by the link"),
    propertyId: z.uuid(),
    device: z
      .string()
      .regex(/^[\w-]{22}$/, "must be the parameter device as the casino's page got it")
      .optional()
      .describe("The parameter device of the casino's own page: the browser that opened the link"),
  },
  output: z.object({
    success: z.literal(true),
    counted: z.boolean(),
    reason: z.enum(REFUSALS).nullable().describe("Why it is not counted"),
    tickets: z.int().describe("For the sharer"),
  }),
  faults: ["not_found"],
  async handler(context, { shareId, playerId, device }) {
    const share = await findShare(context, shareId);
    const reason = await refusalOf(context, share, { referredId: playerId, mark: device });
    context.audit({ entity: "social_shares", entityId: shareId });
    if (reason) return { success: true as const, counted: false, reason, tickets: 0 };
    const id = randomUUIDv7();
    const tickets = await reward(context, share, id);
    const { sql: transaction, property } = context;
    const counted = await transaction`
      insert into share_referrals (property_id, id, share_id, player_id, referred_id, rewarded)
      values (${property.id}, ${id}, ${shareId}, ${share.player_id}, ${playerId}, ${tickets > 0})
      on conflict (property_id, referred_id) do nothing returning id`;
    if (counted.length === 0)
      return { success: true as const, counted: false, reason: "counted_before" as const, tickets: 0 };
    const event = { id, share_id: shareId, player_id: share.player_id, referred_id: playerId, tickets };
    context.emit("player.referred", event);
    return { success: true as const, counted: true, reason: null, tickets };
  },
});

interface Share {
  id: string;
  player_id: string;
  content_type: string;
  content_id: string | null;
  created_at: string;
}

async function findShare({ sql: transaction, property }: Context, id: string): Promise<Share> {
  const shares = await transaction<Share[]>`
    select id, player_id, content_type, content_id, to_json(created_at) #>> '{}' as created_at from social_shares
    where property_id = ${property.id} and id = ${id}`;
  return one(shares, "social share", id);
}

interface Person {
  id: string;
  may: boolean;
  hashes: string[];
  came: boolean;
}

/** Locks both players in the order of their ids. */
async function refusalOf(
  context: Context,
  share: Share,
  { referredId, mark }: { referredId: string; mark: string | undefined },
): Promise<Refusal | null> {
  if (share.player_id === referredId) return "own_link";
  const { sql: transaction, property } = context;
  const gameId = share.content_id !== null && isUuid(share.content_id) ? share.content_id : null;
  const people = await transaction<Person[]>`
    select p.id, ${mayPlay(property.id)} as may,
      array_remove(array[encode(p.email_hash, 'hex'), encode(p.phone_hash, 'hex')], null) as hashes,
      p.created_at > ${share.created_at}::timestamptz or exists (
        select from game_plays g where g.property_id = ${property.id} and g.player_id = p.id
          and g.game_id = ${gameId}::uuid and g.played_at > ${share.created_at}::timestamptz) as came
    from players p
    where p.property_id = ${property.id} and p.id in (${share.player_id}, ${referredId}) and p.deleted_at is null
    order by p.id for no key update of p`;
  const referred = one(
    people.filter(({ id }) => id === referredId),
    "player",
    referredId,
  );
  const sharer = people.find(({ id }) => id === share.player_id);
  if (!sharer?.may || !referred.may) return "barred";
  if (referred.hashes.some((hash) => sharer.hashes.includes(hash))) return "own_address";
  if (await isOwnDevice(context, share, { referredId, mark })) return "own_device";
  const [before] = await transaction`
    select 1 from share_referrals where property_id = ${property.id} and referred_id = ${referredId}`;
  if (before) return "counted_before";
  return referred.came ? null : "no_play_or_sign_up";
}

/** Gives the sharer the game's tickets within its limits. The sharer is locked. */
async function reward(context: Context, share: Share, referralId: string): Promise<number> {
  if (share.content_type !== "game") return 0;
  const { sql: transaction, property } = context;
  const [terms] = await transaction<
    { tickets: number; per_day: number; per_person: number; own: number; today: number }[]
  >`
    select (g.share_reward ->> 'tickets')::int as tickets, (g.share_reward ->> 'per_day')::int as per_day,
      (g.share_reward ->> 'per_person')::int as per_person, r.own, r.today
    from games g cross join (
      select count(*)::int as own, count(*) filter (where created_at
        >= date_trunc('day', now() at time zone ${property.timezone}) at time zone ${property.timezone})::int as today
      from share_referrals where property_id = ${property.id} and player_id = ${share.player_id} and rewarded) r
    where g.property_id = ${property.id} and g.id::text = ${share.content_id} and g.share_reward is not null
      and jsonb_typeof(g.share_reward) = 'object'`;
  if (!terms || terms.own >= terms.per_person || terms.today >= terms.per_day) return 0;
  return grantTickets(
    context,
    { gameId: share.content_id!, source: "share", sourceId: share.id, expiresAt: null },
    sql`
      select ${share.player_id}::uuid as player_id, ${`share:${referralId}:`}::text || n as key
      from generate_series(1, ${terms.tickets}::int) n`,
  );
}
