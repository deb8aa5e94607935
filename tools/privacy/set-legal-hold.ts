import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { playerWords } from "#tools/people/words.ts";
import { findPlayer } from "./player.ts";

export default tool({
  name: "set_legal_hold",
  title: "Set or lift a legal hold",
  description:
    "Protects a player's data from erasure, such as while a claim is open, or ends that protection. Only a signed-in admin or manager can do it.",
  scope: "write",
  effect: "change",
  access: "manager",
  asks: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("From list_players"),
    legalHold: z.boolean().describe("True sets the hold, false lifts it"),
    reason: z.string().trim().min(1).max(500).optional().describe("Stays in the audit log"),
  },
  output: z.object({ success: z.literal(true), legal_hold: z.boolean() }),
  faults: ["not_found", "conflict"],
  async handler(context, { playerId, legalHold, reason }) {
    const { sql, property, audit } = context;
    const player = await findPlayer(context, playerId, { lock: true });
    if (player.status === "erased")
      throw new Fault("conflict", { message: "This player's data was erased." });
    if (player.legal_hold && !legalHold) {
      const sentence = `This ends the legal hold of ${await playerWords(context, player.id)}: the data can be erased from then on.`;
      context.ask?.({ sentences: () => [sentence] });
    }
    await sql`
      update players set legal_hold = ${legalHold}, updated_at = now()
      where property_id = ${property.id} and id = ${player.id}`;
    audit({
      entity: "players",
      entityId: player.id,
      diff: { legal_hold: player.legal_hold, reason: reason ?? null },
    });
    return { success: true as const, legal_hold: legalHold };
  },
});
