import { table } from "#runtime/operation/table.ts";
import { columns } from "./play/columns.ts";

export default table({
  name: "game_plays",
  noun: "game_play",
  verbs: ["list", "get"],
  description:
    "A play of a game: its prize, the numbers of its proof, and the way of its prize from claim to redemption. play_game makes it.",
  columns,
});
