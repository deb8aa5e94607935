import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { playerWords } from "#tools/people/words.ts";
import { withCode } from "./claims/claim.ts";
import { checkStands, checkWinner, lockPlay, PlayView } from "./claims/play.ts";
import gamePlays from "./game-plays.table.ts";

export default tool({
  name: "clear_tax_form",
  title: "Clear a tax form",
  description:
    "Says that the cashier has the winner's tax form, which the service itself never collects. The play is then claimed, and claim_game_prize shows its code.",
  scope: "write",
  effect: "change",
  asks: true,
  property: "propertyId",
  input: {
    playId: z.uuid().describe("A play in needs_tax_form, from list_game_plays"),
    propertyId: z.uuid(),
  },
  output: z.object({ success: z.literal(true), play: PlayView }),
  faults: ["not_found", "not_eligible", "conflict"],
  async handler(context, { playId }) {
    const play = await lockPlay(context, playId);
    checkStands(play, ["needs_tax_form"], context.now(), "clear");
    await checkWinner(context, play);
    context.ask?.({
      state: JSON.stringify([playId, play.status]),
      sentences: async () => [
        `The cashier has the tax form for a prize of ${play.value} dollars of ${await playerWords(context, play.player_id!)}, and pays it out.`,
      ],
    });
    const { values } = await withCode(context, play);
    const row = await update(context, gamePlays, playId, { status: "claimed", ...values });
    context.audit({ entity: "game_plays", entityId: playId });
    return { success: true as const, play: row };
  },
});
