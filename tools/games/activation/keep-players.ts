import { literals } from "#db/sql.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { storedNames } from "#runtime/operation/columns.ts";
import { type Context, UNBOUNDED } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";
import { approvalOf, changesSince, factsOf, segmentKeys } from "#tools/approvals/approval.ts";
import { columns } from "#tools/games/game/columns.ts";
import type { Game } from "#tools/games/game/game.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { LIVE_GAMES } from "#tools/statuses/games.ts";
import { playersPrints } from "./prints.ts";

/**
 * Compares the games that are played with what was approved, behind a call that has changed these segments. An agent has
 * to ask about each difference. Any other call approves the new rules.
 */
export async function keepPlayers(context: Context, ids: string[]): Promise<void> {
  for (const game of await playedGames(context, ids)) {
    const players = await playersPrints(context, game);
    const changes = changesSince(game.approved_state, players);
    if (changes.length > 0) await approveAnew(context, game, { players, changes });
  }
}

/** The games that take plays, or will again, and whose approved audience one of these segments can change. */
async function playedGames({ sql, property }: Context, ids: string[]): Promise<Game[]> {
  if (ids.length === 0) return [];
  return sql<Game[]>`
    select ${storedNames(columns)} from games
    where property_id = ${property.id} and deleted_at is null and status in (${literals(LIVE_GAMES)})
      and jsonb_exists_any(approved_state -> 'audience', ${segmentKeys(ids)}::text[])
    order by id`;
}

interface Change {
  players: NonNullable<Game["approved_state"]>;
  changes: string[];
}

async function approveAnew(context: Context, game: Game, { players, changes }: Change): Promise<void> {
  const { sql, property } = context;
  const prints = { ...game.approved_state, ...players };
  context.ask?.({
    state: canonicalHash({ id: game.id, prints }).toString("hex"),
    facts: () => factsOf(prints),
    sentences: async () => [
      `This changes who may play the game ${quoted(game.name)}, which is ${game.status}: ${changes.join(", ")}.`,
      `Players in its segment then: ${await countPlayers(context, game)}.`,
    ],
    reach: UNBOUNDED,
  });
  const approved = approvalOf(context, prints, { flags: [], count: null });
  await sql`
    update games set approved = ${approved}::jsonb, approved_state = ${prints}::jsonb
    where property_id = ${property.id} and id = ${game.id}`;
}

async function countPlayers({ sql, property }: Context, { segment_id }: Game): Promise<number> {
  const audience = await audienceOf(sql, property.id, segment_id!);
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from players p where p.property_id = ${property.id} and ${audience}`;
  return row!.count;
}
