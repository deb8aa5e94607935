import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { TELL_WINNER } from "#tools/games/play/tell-winner.ts";
import { storeInboxMessages } from "#tools/inbox/store-messages.ts";
import { MESSAGE_LINK_DAYS, PLAYER_PAGES, playerToken } from "#tools/player-links/links.ts";
import { visitorOf } from "#tools/player-links/visitor.ts";
import { themeOf } from "#tools/themes/theme.ts";
import { winnerWords } from "./winner-words.ts";

const DAY_SECONDS = 86_400;

/**
 * Puts a won prize into its player's inbox: the message leads to the play, where the prize is claimed and its code is
 * shown. The inbox keeps no code.
 */
export default job({
  ...TELL_WINNER,
  sends: true,
  handler: ({ transact }, { playId }) => transact((context) => tellWinner(context, playId)),
});

interface Prize {
  game_id: string;
  game: string;
  player_id: string;
  label: string;
  expires_at: string | null;
}

async function tellWinner(context: Context, playId: string): Promise<void> {
  const { sql, property, config, now } = context;
  const [prize] = await sql<Prize[]>`
    select g.id as game_id, g.name as game, y.player_id, z.label, y.expires_at from game_plays y
      join games g on g.property_id = ${property.id} and g.id = y.game_id
      join game_prizes z on z.property_id = ${property.id} and z.id = y.prize_id
    where y.property_id = ${property.id} and y.id = ${playId} and y.outcome = 'win' and y.status <> 'voided'
      and y.player_id is not null and coalesce(y.expires_at > now(), true)`;
  const player =
    prize && (await visitorOf(context, "inbox", { propertyId: property.id, playerId: prize.player_id }));
  // Erased, barred or voided since.
  if (!prize || !player) return;
  const { language } = await themeOf(context);
  const words = winnerWords(player.language ?? language, prize);
  const until = Math.floor(now() / 1000) + MESSAGE_LINK_DAYS * DAY_SECONDS;
  const token = playerToken(config, "game", { propertyId: property.id, playerId: player.id, until });
  const message = {
    id: playId,
    to: player.id,
    title: words.title,
    text: words.text,
    parts: {
      category: prize.game.slice(0, 60),
      cta_label: words.claim,
      cta_url: `${config.baseUrl}${PLAYER_PAGES.game.path}/${token}/${prize.game_id}/plays/${playId}`,
      ...(prize.expires_at && { expires_at: prize.expires_at }),
    },
  };
  await storeInboxMessages(context, [{ message }]);
}
