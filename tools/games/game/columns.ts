import { z } from "zod";
import {
  createOnly,
  internal,
  readable,
  timestamp,
  type WriteRules,
  writable,
} from "#runtime/operation/columns.ts";
import { Approval, Prints } from "#tools/approvals/approval.ts";
import { Odds } from "#tools/games/draw/odds.ts";
import { STATE_FORM, stateOf } from "#tools/people/places.ts";
import { TIME_ZONE_FORM, timeZone } from "#tools/people/time-zones.ts";
import { GAME_STATUSES } from "#tools/statuses/games.ts";

export const TYPES = ["spin_wheel", "scratch_card", "mystery_box", "instant_win"] as const;
export type GameType = (typeof TYPES)[number];
export const DRAWS = ["independent", "deck"] as const;

const count = (meaning: string) => z.int().min(1).max(1_000_000_000).optional().describe(meaning);

const PlayLimits = z
  .strictObject({
    per_player_total: count("Plays of one player"),
    per_player_per_day: count("Plays of one player in a day of reset_timezone"),
    cooldown_seconds: count("Seconds between two plays of one player"),
    game_total: count("Plays of all players"),
  })
  .prefault({})
  .describe("Each one left out is no limit");

export const Cost = z
  .strictObject({
    type: z
      .enum(["free", "ticket", "credit"])
      .default("free")
      .describe(
        "free: everybody within the limits plays, and a ticket is one play more. ticket: each play takes a ticket. credit: the same, for tickets that the casino sells for the player's credit",
      ),
    amount: z.number().min(0).max(1_000_000).default(0).describe("Credit for one ticket"),
  })
  .prefault({})
  .describe("Of a play. Default: free");
export type Cost = z.output<typeof Cost>;

const ShareReward = z.strictObject({
  tickets: z.int().min(1).max(10).default(1).describe("Tickets for each referred person"),
  per_day: z.int().min(1).max(100).default(3).describe("Rewarded referrals of one player in a day"),
  per_person: z.int().min(1).max(1000).default(10).describe("Rewarded referrals of one player at all"),
});

const drafted = <S extends z.ZodType>(schema: S, rules?: WriteRules) =>
  writable(schema, { while: ["draft"], ...rules });
const link = () =>
  z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .nullish();

/** The columns of a game, in the order of answers. */
export const columns = {
  name: writable(z.string().trim().min(1).max(150).describe("Players see it"), {
    concise: true,
    while: ["draft"],
  }),
  description: drafted(z.string().max(2000).nullish().describe("Players see it")),
  type: createOnly(z.enum(TYPES).describe("How players see it; the draw is the same for all"), {
    concise: true,
  }),
  draw: drafted(
    z
      .enum(DRAWS)
      .optional()
      .describe(
        "independent: each play is drawn by the weights. deck: the weights are numbers of tickets, each drawn once in a committed order. Default: deck for a scratch_card and an instant_win, independent for the others",
      ),
  ),
  status: readable(z.enum(GAME_STATUSES), { concise: true }),
  status_reason: readable(z.string().nullable()),
  starts_at: drafted(timestamp().nullish().describe("Default: at the activation")),
  ends_at: drafted(timestamp().nullish().describe("Then it ends by itself. Default: end_game ends it")),
  segment_id: drafted(z.uuid().nullish().describe("Only its players, from list_segments")),
  min_age: drafted(z.int().min(18).max(120).nullish().describe("Where it is above the property's")),
  void_in: drafted(
    z
      .array(
        z
          .string()
          .regex(/^[A-Z]{2}$/, { error: "must be a state's code, such as FL", abort: true })
          .refine(
            (code) => stateOf(code, "US") === code,
            "is no state of the US: write its code, such as FL",
          ),
      )
      .max(60)
      .default([])
      .describe("States in which nobody may play"),
    { form: STATE_FORM },
  ),
  play_limits: drafted(PlayLimits),
  reset_timezone: drafted(timeZone().nullish().describe("Of a day's limits. Default: the property's"), {
    vocabulary: true,
    form: TIME_ZONE_FORM,
  }),
  cost: drafted(Cost),
  out_of_stock: drafted(
    z
      .enum(["no_prize", "redistribute"])
      .default("no_prize")
      .describe(
        "Where a drawn prize is gone. no_prize: the play wins nothing, so that the other odds stay true. redistribute: another prize is drawn by the weights that are left",
      ),
  ),
  sponsor: drafted(
    z.string().trim().min(1).max(200).nullish().describe("Default: the property's legal name"),
  ),
  rules_url: drafted(link().describe("A page with the rules. Default: our own")),
  free_entry_url: drafted(link().describe("The casino's own free way in")),
  own_free_entry: drafted(z.boolean().default(false).describe("enter_game_free gives a ticket a day")),
  odds_published: drafted(z.boolean().default(true).describe("The rules name the odds")),
  share_reward: drafted(ShareReward.nullish().describe("Tickets for referrals by create_share_link")),
  server_seed_hash: readable(
    z.string().nullable().describe("SHA-256 of the master seed, published at activation"),
  ),
  master_seed: readable(z.string().nullable().describe("Revealed at the end: it proves every draw")),
  odds: readable(Odds.nullable().describe("The weights as they were activated")),
  rules_text: readable(z.string().nullable().describe("The rules as they were activated")),
  approved: readable(Approval.nullable()),
  approved_state: internal(Prints.nullable()),
  activated_at: readable(timestamp().nullable()),
  paused_at: readable(timestamp().nullable()),
  ended_at: readable(timestamp().nullable()),
  archived_at: readable(timestamp().nullable()),
  version: readable(z.int().describe("Each change counts it up")),
};
