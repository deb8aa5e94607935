import { expect, test } from "vitest";
import { isSqlState } from "#db/connection/error-code.ts";

const taken = 'duplicate key value violates unique constraint "players_player_id';
const thrown = (fields: object) => Object.assign(new Error(), fields);

test("a constraint is known by its name, or by the message where a worker's shard has the row", () => {
  const plain = { code: "23505", constraint_name: "players_player_id", message: `${taken}"` };
  const shard = { code: "23505", message: `${taken}_102101"` };
  for (const error of [plain, shard]) {
    expect(isSqlState(thrown(error), "23505", "players_player_id")).toBe(true);
    expect(isSqlState(thrown(error), "23505", "players_email")).toBe(false);
    expect(isSqlState(thrown(error), "23503", "players_player_id")).toBe(false);
    expect(isSqlState(thrown(error), "23505")).toBe(true);
  }
  expect(isSqlState(thrown({ code: "23505", message: "taken" }), "23505", "players_player_id")).toBe(false);
});
