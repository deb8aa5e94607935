import { count, list, table, text } from "./parts.js";

/** The answer of segment_preview. */
export function render({ count: players, sample, warnings }) {
  const rows = sample.map((player) => [
    text(player.player_id),
    text([player.first_name, player.last_name].filter(Boolean).join(" ")),
    text(player.tier),
    player.adt === null ? "" : count(player.adt),
    text(player.status),
  ]);
  return `<h1>${count(players)} players match now</h1>${list(warnings)}${table("Ten of them", ["Player", "Name", "Tier", "ADT", "Status"], rows, false)}<p class="soft">Consents and suppressions are not counted in.</p>`;
}
