import type { Context } from "#runtime/operation/context.ts";
import type { Game } from "#tools/games/game/game.ts";

/** A prize with its odds in words. */
export interface PrizeOdds {
  prize_id: string;
  label: string;
  kind: string;
  value: number;
  weight: number;
  odds: string;
  inventory_total: number | null;
}

const TYPE_NAMES: Record<Game["type"], string> = {
  spin_wheel: "a wheel",
  scratch_card: "a scratch card",
  mystery_box: "a mystery box",
  instant_win: "an instant win game",
};

/** The rules of a game for players, made from its own row. */
export function rulesOf(
  { property }: Context,
  game: Game,
  { prizes, worth, casino }: { prizes: readonly PrizeOdds[]; worth: number | null; casino: string },
): string {
  const age = Math.max(game.min_age ?? 0, property.min_age);
  const day = (time: string | null) => time && timeIn(game.reset_timezone ?? property.timezone, time);
  const sponsor = game.sponsor ?? property.legal_name ?? casino;
  return [
    `Rules of ${game.name}, ${TYPE_NAMES[game.type]}`,
    `Sponsor: ${sponsor}${property.postal_address ? `, ${property.postal_address}` : ""}.`,
    `Dates: from ${day(game.starts_at) ?? "the activation"} to ${day(game.ends_at) ?? "the sponsor's end of the game"}.`,
    `Who may play: players of ${casino} who are ${age} or older${game.segment_id ? " and whom the sponsor has invited" : ""}. Players who have excluded themselves cannot play, claim or win.`,
    ...(game.void_in.length > 0 ? [`Void in ${game.void_in.join(", ")} and where the law forbids it.`] : []),
    `Entry: ${entryOf(game)}`,
    `Limits: ${limitsOf(game, property.timezone)}`,
    `Prizes${worth === null ? "" : `, ${counted(worth, "dollar")} in all`}:`,
    ...prizes.map(prizeLine(game)),
    stockOf(game, prizes),
    `The draw: ${drawOf(game)}`,
    "A prize is claimed by its winner and redeemed once, with its code. It is not exchanged. Taxes are the winner's own.",
  ].join("\n");
}

const counted = (count: number, noun: string) =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

/** A time by the clock of a zone, with its name. */
function timeIn(timeZone: string, time: string): string {
  const format = { timeZone, dateStyle: "long", timeStyle: "short" } as const;
  return `${new Date(time).toLocaleString("en-US", format)} (${timeZone})`;
}

function entryOf({ cost, free_entry_url, own_free_entry }: Game): string {
  const free = free_entry_url
    ? ` Free entry with the same odds: ${free_entry_url}`
    : own_free_entry
      ? " Free entry with the same odds: one ticket a day by the form on the game's page."
      : "";
  if (cost.type === "free") return `each play is free. A ticket is one play more.${free}`;
  const price = cost.type === "credit" ? ` A ticket costs ${cost.amount} of the player's credit.` : "";
  return `each play takes a ticket.${price}${free}`;
}

function limitsOf({ play_limits: limits, reset_timezone }: Game, zone: string): string {
  const named = [
    limits.per_player_total && `${counted(limits.per_player_total, "play")} a player`,
    limits.per_player_per_day &&
      `${counted(limits.per_player_per_day, "play")} a player and day (${reset_timezone ?? zone})`,
    limits.cooldown_seconds && `${counted(limits.cooldown_seconds, "second")} between two plays`,
    limits.game_total && `${counted(limits.game_total, "play")} in all`,
  ].filter(Boolean);
  return named.length > 0 ? `${named.join(", ")}.` : "none.";
}

function stockOf({ draw, out_of_stock }: Game, prizes: readonly PrizeOdds[]): string {
  if (draw === "deck") {
    const tickets = prizes.reduce((sum, { weight }) => sum + weight, 0);
    return `Tickets: ${tickets.toLocaleString("en-US")} in all. Each is drawn once, and the game is over with the last one.`;
  }
  return out_of_stock === "redistribute"
    ? "Where a drawn prize is gone, another one is drawn by the weights that are left."
    : "Where a drawn prize is gone, the play wins nothing, so that the odds of the others stay true.";
}

const prizeLine =
  ({ odds_published }: Game) =>
  ({ label, kind, value, odds, inventory_total }: PrizeOdds) => {
    const worth = kind === "no_prize" || value === 0 ? "" : `, worth ${counted(value, "dollar")}`;
    const stock = kind === "no_prize" || inventory_total === null ? "" : `, ${inventory_total} of them`;
    return `- ${label}${worth}${stock}${odds_published ? `. Odds: ${odds}` : ""}.`;
  };

function drawOf({ draw }: Game): string {
  return draw === "deck"
    ? "the tickets were shuffled before the first play. SHA-256 of the seed of that order is published now, and the seed at the end, so that everybody can shuffle them again."
    : "each play has a number from HMAC-SHA256 of the play's own seed, the player's words and the play's number. SHA-256 of the seed is shown before the play and the seed after it.";
}
