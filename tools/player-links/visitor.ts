import { one } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { FREE_STATUSES, PLAYER_STATUSES } from "#tools/statuses/players.ts";
import { type LinkSubject, MESSAGE_LINK_DAYS, PLAYER_PAGES, type PlayerPage } from "./links.ts";

/** The player who has opened a page. */
export interface Visitor {
  id: string;
  language: string | null;
}

/**
 * The player of a link, while the page is open to them. Erasure, deletion and self-exclusion end all links but those
 * that stop messages. Null where there is no such player.
 */
export async function visitorOf(
  { sql, property }: Tenant,
  to: PlayerPage,
  subject: LinkSubject,
): Promise<Visitor | null> {
  const named =
    "playerId" in subject
      ? sql`p.id = ${subject.playerId}`
      : // A test's message goes to staff, with a player's values in it.
        sql`p.id = (
          select s.player_id from campaign_sends s
          where s.property_id = ${property.id} and s.id = ${subject.sendId} and s.test_of is null
            and coalesce(s.sent_at, s.created_at) > now() - make_interval(days => ${MESSAGE_LINK_DAYS}))`;
  const [player] = await sql<Visitor[]>`
    select p.id, p.language from players p
    where p.property_id = ${property.id} and ${named} and p.deleted_at is null
      and p.status = any(${statusesFor(to)}::text[])`;
  return player ?? null;
}

/** Those of the players to whom the page is open. */
export async function openTo(
  { sql, property }: Tenant,
  to: PlayerPage,
  playerIds: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select p.id from players p
    where p.property_id = ${property.id} and p.id = any(${playerIds}::uuid[]) and p.deleted_at is null
      and p.status = any(${statusesFor(to)}::text[])`;
  return new Set(rows.map(({ id }) => id));
}

/** Throws `not_found` for a player to whom the page is not open. */
export async function assertVisitor(context: Tenant, to: PlayerPage, playerId: string): Promise<Visitor> {
  const visitor = await visitorOf(context, to, { propertyId: context.property.id, playerId });
  return one(visitor ? [visitor] : [], "player to whom this page is open", playerId);
}

function statusesFor(to: PlayerPage): readonly string[] {
  if (!PLAYER_PAGES[to].forBarred) return FREE_STATUSES;
  return PLAYER_STATUSES.filter((status) => status !== "erased" && status !== "deceased");
}
