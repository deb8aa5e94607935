import { counted } from "#runtime/counted.ts";
import type { Context } from "#runtime/operation/context.ts";
import { MOST_TICKETS } from "#tools/games/draw/deck.ts";
import { MOST_WEIGHT } from "#tools/games/draw/odds.ts";
import type { Game } from "#tools/games/game/game.ts";
import type { Law } from "#tools/games/law/law.ts";
import type { Prize } from "#tools/games/prize/prize.ts";
import type { Theme } from "#tools/themes/theme.ts";

interface Activated {
  game: Game;
  prizes: readonly Prize[];
  laws: readonly Law[];
  worth: number | null;
  denominator: number;
  /** Addresses of the property's own pages: to take a break, and to join by a shared link. */
  theme: Pick<Theme, "responsible_gaming_url" | "join_url">;
  /** The codes that no claim has taken, by pool. */
  codes: ReadonlyMap<string, number>;
}

/** The problems that keep a game from going live, and warnings for the person who decides. */
export function problemsOf(context: Context, activated: Activated): { errors: string[]; warnings: string[] } {
  const { game, prizes, denominator } = activated;
  const errors: string[] = [];
  if (!prizes.some(({ kind }) => kind !== "no_prize"))
    errors.push("The game has no prize. create_game_prize adds one.");
  if (denominator > MOST_WEIGHT)
    errors.push(`The weights sum to ${denominator}; at most ${MOST_WEIGHT} is possible.`);
  if (game.ends_at !== null && Date.parse(game.ends_at) <= context.now()) {
    errors.push("ends_at has passed. Give a later time.");
  }
  if (game.draw === "deck") errors.push(...deckProblems(activated));
  errors.push(...wheelProblems(game, prizes), ...freeEntryProblems(activated));
  return { errors, warnings: warningsOf(activated) };
}

function deckProblems({ game, prizes, denominator }: Activated): string[] {
  const limited = prizes.filter((prize) => prize.per_player_limit !== null || prize.daily_limit !== null);
  const unlike = prizes.filter(
    ({ kind, inventory_total, weight }) => kind !== "no_prize" && ![null, weight].includes(inventory_total),
  );
  return [
    ...(denominator > MOST_TICKETS
      ? [`A deck has at most ${MOST_TICKETS} tickets; this one has ${denominator}.`]
      : []),
    ...(game.out_of_stock === "redistribute"
      ? ["A deck never runs out of a prize; leave out_of_stock at no_prize."]
      : []),
    ...limited.map(
      ({ label }) => `A deck's order is fixed, so the prize ${JSON.stringify(label)} can have no limits.`,
    ),
    ...unlike.map(
      ({ label, weight }) =>
        `In a deck the prize ${JSON.stringify(label)} has as many as its weight: ${weight}. Leave inventory_total out, or set draw to independent.`,
    ),
  ];
}

function wheelProblems({ type }: Game, prizes: readonly Prize[]): string[] {
  const slices = prizes.flatMap(({ slice_index }) => slice_index ?? []);
  const twice = slices.filter((slice, index) => slices.indexOf(slice) < index);
  return [
    ...(type === "spin_wheel" && slices.length < prizes.length
      ? ["Each prize of a wheel needs a slice_index."]
      : []),
    ...twice.map((slice) => `Two prizes have the slice_index ${slice}.`),
  ];
}

function freeEntryProblems({ game, laws }: Activated): string[] {
  const isNeeded = game.cost.type !== "free" && laws.some(({ kind }) => kind === "free_entry");
  if (!isNeeded || game.free_entry_url !== null || game.own_free_entry) return [];
  return [
    "A play is not free, so the game needs a free way in with equal odds: give free_entry_url, or own_free_entry true.",
  ];
}

function warningsOf(activated: Activated): string[] {
  const { game, prizes, laws, worth, theme } = activated;
  const registrations = laws.filter(
    ({ kind, state }) => kind === "registration" && !game.void_in.includes(state ?? ""),
  );
  const total =
    worth === null ? "The worth of the prizes has no limit" : `The prizes are worth ${worth} dollars`;
  return [
    ...registrations.flatMap(({ country, state, amount, source_note }) =>
      worth === null || worth > amount!
        ? [
            `${total}: ${state ?? country} may ask for a registration above ${amount}. ${source_note ?? ""}`.trim(),
          ]
        : [],
    ),
    ...(theme.responsible_gaming_url === null
      ? [
          "The pages of this game show players no link to take a break or exclude themselves, because the property has no address for it: set responsible_gaming_url by set_property_theme.",
        ]
      : []),
    ...(game.share_reward && theme.join_url === null
      ? [
          "Shared links of this game lead nowhere, because the property has no address for people who join: set join_url by set_property_theme.",
        ]
      : []),
    ...poolWarnings(activated),
    ...(game.odds_published ? [] : ["The odds are not published: players cannot check them."]),
    ...(prizes.some(({ kind, inventory_total }) => kind !== "no_prize" && inventory_total === null) &&
    game.draw !== "deck"
      ? ["A prize has unlimited stock, so the cost is unlimited."]
      : []),
    "The rows of list_game_laws are defaults. Have counsel check them and the rules.",
  ];
}

/** A winner whose pool is empty waits for a code. */
function poolWarnings({ game, prizes, codes }: Activated): string[] {
  return prizes.flatMap(({ label, code_pool_id, weight, inventory_total }) => {
    if (code_pool_id === null) return [];
    const left = codes.get(code_pool_id) ?? 0;
    const most = game.draw === "deck" ? weight : inventory_total;
    if (most !== null && left >= most) return [];
    const wanted = most === null ? "any number" : String(most);
    return [
      `The pool of ${JSON.stringify(label)} has ${counted(left, "code")} for ${wanted} of them: fill it by add_prize_codes, or winners wait for their code.`,
    ];
  });
}
