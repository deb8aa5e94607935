/** The statuses of a game that takes plays, or may take them again. */
export const LIVE_GAMES = ["active", "paused"] as const;
/** The statuses of a game that has not ended. */
export const OPEN_GAMES = ["draft", ...LIVE_GAMES] as const;
export const GAME_STATUSES = [...OPEN_GAMES, "ended", "archived"] as const;
export type GameStatus = (typeof GAME_STATUSES)[number];
