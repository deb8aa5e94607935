import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { playerWords } from "#tools/people/words.ts";
import { checkStands, lockPlay, PlayView } from "./claims/play.ts";
import gamePlays from "./game-plays.table.ts";
import { OPEN_PLAYS } from "./play/columns.ts";
import { uncount } from "./play/uncount.ts";

export default tool({
  name: "void_game_play",
  title: "Void a prize",
  description:
    "Takes a prize that was won back before it is redeemed, with the reason. The play stays, and the stock of an independent draw gets the prize again. It cannot be undone.",
  scope: "write",
  effect: "destroy",
  property: "propertyId",
  input: {
    playId: z.uuid().describe("From list_game_plays"),
    propertyId: z.uuid(),
    reason: z.string().trim().min(1).max(500).describe("Kept with the play"),
  },
  output: z.object({ success: z.literal(true), play: PlayView }),
  faults: ["not_found", "conflict"],
  async handler(context, { playId, reason }) {
    const { sql, property } = context;
    const play = await lockPlay(context, playId);
    checkStands(play, OPEN_PLAYS, 0, "void");
    context.ask?.({
      state: JSON.stringify([playId, play.status, reason]),
      sentences: async () => [
        `This takes a prize of ${play.value} dollars from ${await playerWords(context, play.player_id!)}. It cannot be undone.`,
      ],
    });
    const row = await update(context, gamePlays, playId, {
      status: "voided",
      void_reason: reason,
      code_hash: null,
      code_sealed: null,
    });
    await uncount(context, play);
    await sql`
      update inbox_messages set expires_at = now(), updated_at = now()
      where property_id = ${property.id} and id = ${playId}`;
    context.audit({ entity: "game_plays", entityId: playId });
    return { success: true as const, play: row };
  },
});
