import { Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { checkStatus, findGame } from "./game/game.ts";
import { columns } from "./prize/columns.ts";

const MOST_PRIZES = 200;

export default table({
  name: "game_prizes",
  noun: "game_prize",
  description: "A prize of a game, with its weight and its stock. Prizes change while their game is a draft.",
  columns,
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { sql, property } = context;
  const gameId = change.verb === "create" ? change.input.game_id : change.current.game_id;
  checkStatus(await findGame(context, gameId, { lock: "change" }), ["draft"], "get other prizes");
  const { input } = change;
  if (input.code_pool_id) {
    const found = await sql`
      select from code_pools where property_id = ${property.id} and id = ${input.code_pool_id}`;
    if (found.length === 0)
      throw invalid("code_pool_id", "names no pool of this property; see list_code_pools");
  }
  if (change.verb !== "create") return input;
  const [counted] = await sql<[{ prizes: number }]>`
    select count(*)::int as prizes from game_prizes where property_id = ${property.id} and game_id = ${gameId}`;
  if (counted.prizes < MOST_PRIZES) return input;
  throw new Fault("conflict", { message: `A game has at most ${MOST_PRIZES} prizes.` });
}
