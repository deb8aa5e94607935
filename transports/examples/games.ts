import { exampleId } from "./record-ids.ts";

const game = { gameId: exampleId("live games") };
const draft = { gameId: exampleId("games") };
const player = { playerId: exampleId("players") };
const play = { playId: exampleId("game_plays") };

/** Inputs about games, their prizes and shares. */
export const GAME_EXAMPLES = {
  show_games: { ...player, gameId: game.gameId },
  show_game_play: { ...player, ...play },
  create_game: {
    name: "Autumn scratch card",
    type: "scratch_card",
    draw: "deck",
    play_limits: { per_player_per_day: 1 },
    own_free_entry: true,
  },
  update_game: { id: draft.gameId, description: "For everybody who visits in autumn" },
  delete_game: { id: draft.gameId, dry_run: true },
  create_game_prize: {
    game_id: draft.gameId,
    label: "Dinner for two",
    kind: "comp",
    value: 120,
    weight: 5,
    inventory_total: 5,
    redeem_within_days: 30,
  },
  update_game_prize: { id: exampleId("game_prizes"), weight: 10 },
  delete_game_prize: { id: exampleId("game_prizes"), dry_run: true },
  create_code_pool: { name: "Show tickets" },
  update_code_pool: { id: exampleId("code_pools"), name: "Tickets for the show" },
  delete_code_pool: { id: exampleId("code_pools"), dry_run: true },
  add_prize_codes: { poolId: exampleId("code_pools"), codes: ["SHOW-4711-A", "SHOW-4711-B"] },
  create_game_law: {
    kind: "registration",
    country: "US",
    state: "AZ",
    amount: 10_000,
    source_note: "Counsel, 2026",
  },
  update_voice_law: { id: exampleId("voice_laws"), source_note: "Checked by counsel" },
  update_game_law: { id: exampleId("game_laws"), source_note: "Checked by counsel" },
  preview_game: draft,
  activate_game: { ...draft, dry_run: true },
  pause_game: { gameId: exampleId("deck games"), reason: "The desk is closed" },
  resume_game: { gameId: exampleId("deck games"), dry_run: true },
  end_game: { ...game, dry_run: true },
  archive_game: game,
  check_game_play: { ...game, ...player },
  play_game: { ...game, ...player, clientSeed: "lucky-7" },
  verify_game_play: play,
  game_report: game,
  grant_game_tickets: { ...game, playerIds: [player.playerId], key: "weekend-2026-48", dry_run: true },
  enter_game_free: { ...game, ...player },
  claim_game_prize: { ...play, ...player },
  clear_tax_form: play,
  redeem_prize: { code: "7KQ2-M4XD-9RTB", redeemedBy: "Kim", redeemedWhere: "Players club" },
  void_game_play: { ...play, reason: "The machine was faulty", dry_run: true },
  create_share_link: { ...player, network: "whatsapp", contentType: "game", contentId: game.gameId },
  record_referral: { shareId: exampleId("social_shares"), ...player },
};
