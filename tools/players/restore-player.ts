import { z } from "zod";
import { adHoc, raw } from "#db/sql.ts";
import { Fault, one } from "#runtime/faults.ts";
import { viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { RECORDS } from "#runtime/operation/record-words.ts";
import { update } from "#runtime/operation/rows.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { suppressAddressesOf } from "#tools/compliance/self-exclusion.ts";
import { sharedPlayerWriteLock } from "#tools/people/locks.ts";
import { playerWords } from "#tools/people/words.ts";
import { matchPerson } from "./player.ts";
import players from "./players.table.ts";

const DAYS = 30;

export default tool({
  name: "restore_player",
  title: "Restore a deleted player",
  description:
    "Restores a player who was deleted in the last 30 days, with all data. Consents and suppressions follow the ledger and the lists of today.",
  scope: "write",
  effect: "change",
  asks: true,
  movesPlayers: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z
      .uuid()
      .describe("The deleted player's id, from list_audit_logs or your own records")
      .register(RECORDS, { noun: "player", deleted: true }),
  },
  output: viewOf(players),
  faults: ["not_found", "conflict"],
  async handler(context, { playerId }) {
    await context.sql`${adHoc(raw(sharedPlayerWriteLock(context.property.id)))}`;
    const deleted = await lockDeleted(context, playerId);
    const found = await matchPerson(context, deleted.player_id, deleted, null);
    if (found.merged_into !== null) {
      throw new Fault("conflict", {
        message: `The player_id ${JSON.stringify(deleted.player_id)} was merged: it means the player ${found.merged_into}.`,
      });
    }
    if (await isTaken(context, deleted.player_id)) {
      throw new Fault("conflict", {
        message: `Another player now has the player_id ${JSON.stringify(deleted.player_id)}.`,
      });
    }
    if (found.erased) {
      throw new Fault("conflict", {
        message: "Since the deletion, the data of a person with this address was erased.",
      });
    }
    const kept = found.barred ?? deleted.status;
    const status = found.excluded && kept !== "deceased" ? "self_excluded" : kept;
    const row = await update(context, players, playerId, { deleted_at: null, status });
    if (status === "self_excluded") await suppressAddressesOf(context, [playerId]);
    const words = await playerWords(context, playerId);
    context.ask?.({
      sentences: () => [
        `This restores ${words}, with the status ${status}. Where no bar stands, messages reach the player again.`,
      ],
    });
    context.emit("player.updated", row, { deleted_at: deleted.deleted_at });
    context.audit({ entity: "players", entityId: playerId, diff: { deleted_at: deleted.deleted_at } });
    return row;
  },
});

type Deleted = Pick<
  RowOf<typeof players.columns>,
  "player_id" | "status" | "deleted_at" | "first_name" | "last_name" | "birth_date"
> & { email_hash: Buffer | null; phone_hash: Buffer | null };

async function lockDeleted({ sql, property }: Context, id: string): Promise<Deleted> {
  const players = await sql<(Deleted & { late: boolean; merged_into: string | null })[]>`
    select player_id, status, deleted_at, email_hash, phone_hash, first_name, last_name, birth_date, merged_into,
      deleted_at < now() - make_interval(days => ${DAYS}) as late
    from players where property_id = ${property.id} and id = ${id} for update`;
  const player = one(players, "player", id);
  if (player.status === "erased") {
    throw new Fault("conflict", {
      message: "This player's data was erased: nothing is left to restore.",
    });
  }
  if (player.deleted_at === null) throw new Fault("conflict", { message: "This player is not deleted." });
  if (player.merged_into !== null) {
    throw new Fault("conflict", { message: `This player was merged into ${player.merged_into}, for good.` });
  }
  if (player.late) {
    throw new Fault("conflict", { message: `This player was deleted more than ${DAYS} days ago.` });
  }
  return player;
}

async function isTaken({ sql, property }: Context, playerId: string): Promise<boolean> {
  const found = await sql`
    select from players
    where property_id = ${property.id} and player_id = ${playerId} and deleted_at is null`;
  return found.length > 0;
}
