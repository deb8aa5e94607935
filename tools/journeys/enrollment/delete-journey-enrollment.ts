import { z } from "zod";
import { sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { lockRow } from "#runtime/operation/crud.ts";
import { tool } from "#runtime/operation/operation.ts";
import { endEnrollments } from "#tools/enrollments/end.ts";
import { playerWords } from "#tools/people/words.ts";
import { findJourney } from "../journey/journey.ts";
import enrollments from "./journey-enrollments.table.ts";

export default tool({
  name: "delete_journey_enrollment",
  title: "Take a player out of a journey",
  description:
    "Ends one enrollment with the reason manual. Its row and its path stay. A message that has not left is cancelled.",
  scope: "write",
  effect: "destroy",
  input: { id: z.uuid().describe("From list_journey_enrollments") },
  output: z.object({ success: z.literal(true) }),
  faults: ["conflict", "not_found"],
  crud: { table: enrollments, verb: "delete" },
  async handler(context, { id }) {
    const { status, player_id, journey_id } = await lockRow(context, enrollments, id);
    if (status !== "active") {
      throw new Fault("conflict", {
        message: `The enrollment is ${status}: the player has left the journey.`,
      });
    }
    context.ask?.({
      state: id,
      sentences: async () => {
        const { name } = await findJourney(context, journey_id);
        const player = await playerWords(context, player_id!);
        return [
          `This takes ${player} out of the journey ${JSON.stringify(name)}. Nothing brings the player back.`,
        ];
      },
    });
    await endEnrollments(context, sql`d.id = ${id}::uuid`, "manual");
    context.audit({ entityId: id });
    return { success: true as const };
  },
});
