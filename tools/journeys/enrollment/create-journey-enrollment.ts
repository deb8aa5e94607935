import { sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { columnNames, inputOf, viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { enroll } from "#tools/enrollments/enroll.ts";
import { playerWords } from "#tools/people/words.ts";
import { entryOf } from "../journey/way-in.ts";
import enrollments from "./journey-enrollments.table.ts";

type Enrollment = RowOf<typeof enrollments.columns>;

export default tool({
  name: "create_journey_enrollment",
  title: "Enroll a player",
  description: "Lets one player enter an active journey. enroll_players takes many, or a segment.",
  scope: "write",
  effect: "contact",
  input: inputOf(enrollments, "create"),
  output: viewOf(enrollments),
  status: 201,
  faults: ["invalid", "not_found", "conflict"],
  crud: { table: enrollments, verb: "create" },
  async handler(context, { journey_id, player_id, entry_key = "" }) {
    const wayIn = await entryOf(context, String(journey_id));
    const player = String(player_id);
    await checkPlayer(context, player);
    const entered = await enroll(
      context,
      sql`
        select ${wayIn.journeyId}::uuid as journey_id, ${wayIn.version}::int as version, ${wayIn.node}::text as node,
          ${wayIn.reentry}::jsonb as reentry, ${player}::uuid as player_id, ${String(entry_key)}::text as entry_key,
          '{}'::jsonb as context`,
    );
    if (entered.ignored_inside > 0) throw refused("is inside this journey already");
    if (entered.ignored_reentry > 0) throw refused("may not enter again, by the journey's re-entry rule");
    if (entered.barred > 0) throw refused("is banned, self-excluded, deceased or erased");
    context.ask?.({
      state: JSON.stringify([wayIn, player]),
      sentences: async () => [
        `This lets ${await playerWords(context, player)} into the journey ${JSON.stringify(wayIn.name)} now.`,
      ],
      reach: { players: () => 1, cost: () => null },
    });
    return live(context, wayIn.journeyId, player, String(entry_key));
  },
});

async function checkPlayer({ sql: transaction, property }: Context, id: string): Promise<void> {
  const [found] = await transaction`
    select from players where property_id = ${property.id} and id = ${id}::uuid and deleted_at is null`;
  if (!found) throw new Fault("not_found", { message: `player_id: no player ${id} in this property.` });
}

function refused(why: string): Fault {
  return new Fault("conflict", { message: `player_id: the player ${why}.` });
}

async function live({ sql: transaction, property }: Context, journey: string, player: string, key: string) {
  const [found] = await transaction<[{ row: Enrollment }]>`
    select row_to_json(v) as row from (
      select ${columnNames(enrollments)} from journey_enrollments
      where property_id = ${property.id} and journey_id = ${journey} and player_id = ${player} and entry_key = ${key}
        and status = 'active') v`;
  return found.row;
}
