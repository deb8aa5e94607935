import { z } from "zod";
import { sql } from "#db/sql.ts";
import { MOST_CHARACTERS, MOST_TAG, MOST_TAGS } from "#tools/players/rules.ts";
import { NEXT, type NodeKind } from "./node.ts";

const Tags = z.array(z.string().trim().min(1).max(MOST_TAG)).min(1).max(MOST_TAGS).optional();

export const UpdateConfig = z.strictObject({
  tier: z.string().trim().min(1).max(MOST_CHARACTERS.tier).optional().describe("One of the property's tiers"),
  add_tags: Tags,
  remove_tags: Tags,
  custom: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("Custom fields by their keys, from list_custom_fields; null empties one"),
});
export type UpdateConfig = z.output<typeof UpdateConfig>;

export const updatePlayer: NodeKind<UpdateConfig> = {
  type: "update_player",
  meaning: "Changes the player's tier, tags or custom fields.",
  config: UpdateConfig,
  labels: () => [NEXT],
  problems: (config) =>
    Object.values(config).every((value) => value === undefined)
      ? [{ field: "tier", message: "or add_tags, remove_tags or custom: give at least one change" }]
      : [],
  next: () => sql`${NEXT}::text`,
};

export const AddConfig = z.strictObject({
  segment_id: z.uuid().describe("A static segment, from list_segments"),
});
export type AddConfig = z.output<typeof AddConfig>;

export const addToSegment: NodeKind<AddConfig> = {
  type: "add_to_segment",
  meaning: "Puts the player on a static segment's list.",
  config: AddConfig,
  labels: () => [NEXT],
  next: () => sql`${NEXT}::text`,
};

export const GrantConfig = z.strictObject({
  game_id: z.uuid().describe("From list_games"),
  expires_in_days: z
    .int()
    .min(1)
    .max(365)
    .optional()
    .describe("Default: the ticket lasts as long as the game"),
});
export type GrantConfig = z.output<typeof GrantConfig>;

export const grantGamePlay: NodeKind<GrantConfig> = {
  type: "grant_game_play",
  meaning:
    "Gives the player a ticket for a game: one play. A player whom a status or an exclusion bars gets none.",
  config: GrantConfig,
  labels: () => [NEXT],
  next: () => sql`${NEXT}::text`,
};

export const WebhookConfig = z.strictObject({
  name: z.string().trim().min(1).max(100).describe("Tells the receiver which step this is"),
});
export type WebhookConfig = z.output<typeof WebhookConfig>;

export const webhook: NodeKind<WebhookConfig> = {
  type: "webhook",
  meaning:
    "Emits the event player.journey_webhook to the property's endpoints that have subscribed to it. It names no address of its own.",
  config: WebhookConfig,
  labels: () => [NEXT],
  next: () => sql`${NEXT}::text`,
};
