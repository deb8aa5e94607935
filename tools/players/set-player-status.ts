import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { viewOf } from "#runtime/operation/columns.ts";
import { changedFields, lockRow } from "#runtime/operation/crud.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { freeLeftAddresses } from "#tools/compliance/left-addresses.ts";
import { stopSends } from "#tools/compliance/sends-under-way.ts";
import { endFor } from "#tools/enrollments/end.ts";
import { liftDeletedBars } from "#tools/people/bars.ts";
import { playerWords } from "#tools/people/words.ts";
import { FREE_STATUSES, isStatus } from "#tools/statuses/players.ts";
import players from "./players.table.ts";

/** The statuses that this function sets and removes. Self-exclusion and erasure have their own functions. */
const SET = ["banned", "deceased"] as const;
const OTHER_WAYS: Readonly<Record<string, string>> = {
  self_excluded: "is set by create_self_exclusion",
  erased: "is set by data_deletion",
};

function otherWay({ input }: { input?: unknown }): string | undefined {
  const way = typeof input === "string" && Object.hasOwn(OTHER_WAYS, input) ? OTHER_WAYS[input] : undefined;
  return way && `${input} ${way}`;
}

export default tool({
  name: "set_player_status",
  title: "Ban a player, or note a death",
  description:
    "Marks a player as banned or deceased: they get no messages at all. Only a signed-in admin or manager can reverse that, to active, inactive or vip_hold. For self-exclusion use create_self_exclusion; nobody can reverse it.",
  scope: "write",
  effect: "change",
  asks: true,
  movesPlayers: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("From list_players"),
    status: z
      .enum([...SET, ...FREE_STATUSES], { error: otherWay })
      .describe("banned and deceased get no messages"),
    reason: z.string().trim().min(1).max(500).optional().describe("Recorded in the audit log"),
  },
  output: viewOf(players),
  faults: ["not_found", "conflict", "forbidden"],
  async handler(context, { playerId, status, reason }) {
    const { call, emit, audit } = context;
    const current = await lockRow(context, players, playerId);
    const before = current.status;
    if (before === "self_excluded" || before === "erased") {
      throw new Fault("conflict", { message: `The player is ${before}; this status cannot be changed.` });
    }
    const lifts = (SET as readonly string[]).includes(before) && before !== status;
    if (lifts && call.actor.type !== "user" && call.actor.type !== "system") {
      throw new Fault("forbidden", {
        message: `The player is ${before}. Only a signed-in admin or manager can change that.`,
      });
    }
    if (lifts) {
      const sentence = `${await playerWords(context, playerId)} is ${before}, becomes ${status}, and may be written to again.`;
      context.ask?.({ sentences: () => [`This lifts a bar: ${sentence}`] });
    }
    if (status === "banned" || status === "deceased") {
      await stopSends(context, [playerId], CHANNELS, status);
      await endFor(context, [playerId], status);
    }
    if (lifts || (before === "vip_hold" && isStatus(FREE_STATUSES, status) && status !== before)) {
      await freeLeftAddresses(context, [playerId]);
    }
    if (lifts) await liftDeletedBars(context, current.player_id, status);
    const row = await update(context, players, playerId, { status });
    if (status !== before) emit("player.updated", row, changedFields(current, row));
    audit({ entity: "players", entityId: playerId, diff: { status: before, ...(reason && { reason }) } });
    return row;
  },
});
