import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { codeHash } from "./claims/codes.ts";
import { checkStands, checkWinner, lockPlay, PlayView, playEvent } from "./claims/play.ts";
import gamePlays from "./game-plays.table.ts";

export default tool({
  name: "redeem_prize",
  title: "Redeem a prize",
  description:
    "The cashier gives out a prize for its code: once, with the cashier's name and the place. A second try names the first.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    code: z.string().trim().min(4).max(100).describe("As the player shows it, from claim_game_prize"),
    propertyId: z.uuid(),
    redeemedBy: z.string().trim().min(1).max(200).describe("The cashier"),
    redeemedWhere: z.string().trim().min(1).max(200).describe("The desk"),
  },
  output: z.object({ success: z.literal(true), play: PlayView, label: z.string().describe("Of the prize") }),
  faults: ["not_found", "not_eligible", "conflict"],
  async handler(context, { code, redeemedBy, redeemedWhere }) {
    const { sql, property } = context;
    const [found] = await sql<{ id: string; player_id: string; label: string }[]>`
      select y.id, y.player_id, z.label from game_plays y
        join game_prizes z on z.property_id = ${property.id} and z.id = y.prize_id
      where y.property_id = ${property.id} and y.code_hash = ${codeHash(context, code)}`;
    if (!found)
      throw new Fault("not_found", { message: "code: no prize has this code. Check it for a slip." });
    const play = await lockPlay(context, found.id);
    checkStands(play, ["claimed"], context.now(), "redeem");
    await checkWinner(context, found);
    const row = await update(context, gamePlays, found.id, {
      status: "redeemed",
      redeemed_at: "now",
      redeemed_by: redeemedBy,
      redeemed_where: redeemedWhere,
    });
    context.emit("game.prize_redeemed", playEvent({ ...play, ...row }));
    context.audit({ entity: "game_plays", entityId: found.id });
    return { success: true as const, play: row, label: found.label };
  },
});
