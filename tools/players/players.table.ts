import { counted } from "#runtime/counted.ts";
import type { Context } from "#runtime/operation/context.ts";
import { table } from "#runtime/operation/table.ts";
import { suppressAddressesOf } from "#tools/compliance/self-exclusion.ts";
import customFields from "#tools/custom-fields/custom-fields.table.ts";
import { formOfField, unknownKey } from "#tools/custom-fields/values.ts";
import { askAboutDates } from "#tools/enrollments/ask.ts";
import { sharedPlayerWriteLock } from "#tools/people/locks.ts";
import { playerWords } from "#tools/people/words.ts";
import { barRemoved, beforeWrites } from "./checks.ts";
import { columns, type Player, type PlayerChange } from "./columns.ts";

export default table({
  name: "players",
  noun: "player",
  key: ["player_id"],
  called: "player_id",
  description: "A player is a person in the property's database.",
  softDelete: true,
  definedKeys: {
    column: "custom",
    definitions: customFields,
    key: "key",
    unknown: unknownKey,
    form: formOfField,
    isList: ({ type }) => type === "text_list",
  },
  events: { create: "player.created", update: "player.updated", delete: "player.deleted" },
  core: ["list", "get", "create", "update", "delete"],
  asks: ["create", "update"],
  movesPlayers: true,
  columns,
  lock: sharedPlayerWriteLock,
  groupCommit: true,
  beforeWrite: barRemoved,
  beforeWrites,
  afterWrite,
  removalWords,
});

async function removalWords(context: Context, { id }: Player): Promise<string[]> {
  const { sql, property } = context;
  const [counts] = await sql<[{ messages: number; consents: number; events: number }]>`
    select (select count(*)::int from campaign_sends s where s.property_id = ${property.id} and s.player_id = ${id}) as messages,
      (select count(*)::int from consent_records c where c.property_id = ${property.id} and c.player_id = ${id}) as consents,
      (select count(*)::int from player_events e where e.property_id = ${property.id} and e.player_id = ${id}) as events`;
  const { messages, consents, events } = counts;
  return [
    `This deletes ${await playerWords(context, id)}, with ${counted(messages, "message")}, ${counted(consents, "consent record")} and ${counted(events, "event")}, which are kept.`,
    "restore_player brings the player back for 30 days.",
  ];
}

async function afterWrite(
  context: Context,
  { verb, current, row }: PlayerChange & { row: Player },
): Promise<void> {
  const { emit } = context;
  if (verb === "delete") return;
  await askAboutDates(context, { before: current, after: row });
  if (current && current.tier !== row.tier) emit("player.tier_changed", row, { tier: current.tier });
  if (row.status === "self_excluded") await suppressAddressesOf(context, [row.id]);
  if (row.status === "self_excluded" && current?.status !== "self_excluded")
    emit("player.self_excluded", row);
}
