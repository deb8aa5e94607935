import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { quoted } from "#runtime/visible-text.ts";
import { playerWords } from "#tools/people/words.ts";
import { codeOf, needsTaxForm, withCode } from "./claims/claim.ts";
import { checkStands, checkWinner, lockPlay, type Play, PlayView, playEvent } from "./claims/play.ts";
import gamePlays from "./game-plays.table.ts";
import { OPEN_PLAYS } from "./play/columns.ts";

export default tool({
  name: "claim_game_prize",
  title: "Claim a prize",
  description:
    "A player claims the prize of a play, and gets the code for the cashier. Claiming again shows the same code. Over MCP a code is confirmed before it is shown. A claim that brings the player's year to the reporting amount waits in needs_tax_form, and shows no code.",
  scope: "write",
  effect: "change",
  asks: true,
  property: "propertyId",
  input: {
    playId: z.uuid().describe("From play_game"),
    playerId: z.uuid().describe("The winner: nobody else's claim counts"),
    propertyId: z.uuid(),
  },
  output: z.object({
    success: z.literal(true),
    play: PlayView,
    redemption_code: z
      .string()
      .nullish()
      .describe("Null while it needs a tax form, and where data is masked. A replay does not have it"),
  }),
  secrets: ["redemption_code"],
  faults: ["not_found", "not_eligible", "conflict"],
  async handler(context, { playId, playerId }) {
    await checkWinner(context, { player_id: playerId });
    const play = await lockPlay(context, playId);
    if (play.player_id !== playerId) {
      throw new Fault("not_found", { message: `No game play with the id ${playId} of this player.` });
    }
    checkStands(play, OPEN_PLAYS, context.now(), "claim");
    context.audit({ entity: "game_plays", entityId: playId });
    const { code_hash: _, code_sealed, drawn_for: _drawn, ...shown } = play;
    if (play.status !== "revealed") {
      const code = code_sealed === null ? null : codeOf(context, play);
      return { success: true as const, play: shown, redemption_code: await shownCode(context, play, code) };
    }
    const waits = await needsTaxForm(context, play);
    const given = waits ? null : await withCode(context, play);
    const row = await update(context, gamePlays, playId, {
      status: waits ? "needs_tax_form" : "claimed",
      claimed_at: "now",
      ...given?.values,
    });
    context.emit("game.prize_claimed", playEvent({ ...play, ...row }));
    const redemption_code = await shownCode(context, play, given?.code ?? null);
    return { success: true as const, play: row, redemption_code };
  },
});

/** The code, after a question where an agent gets it: its holder gets the prize. */
async function shownCode(context: Context, play: Play, code: string | null): Promise<string | null> {
  const { sql, property, call, ask } = context;
  if (code === null || call.masked) return null;
  ask?.({
    sentences: async () => {
      const [prize] = await sql<{ label: string; game: string }[]>`
        select z.label, g.name as game from game_prizes z
          join games g on g.property_id = ${property.id} and g.id = z.game_id
        where z.property_id = ${property.id} and z.id = ${play.prize_id}`;
      return [
        `This shows the code of the prize ${quoted(prize!.label)}, worth ${play.value} dollars, that ${await playerWords(context, play.player_id!)} has won in the game ${quoted(prize!.game)}. Its holder gets the prize at the desk.`,
      ];
    },
  });
  return code;
}
