import { z } from "zod";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid, noSuch } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { RECORDS } from "#runtime/operation/record-words.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { barLeftAddresses } from "#tools/compliance/left-addresses.ts";
import { suppressAddressesOf } from "#tools/compliance/self-exclusion.ts";
import { stopSends } from "#tools/compliance/sends-under-way.ts";
import { endFor, endWithout } from "#tools/enrollments/end.ts";
import { lockImports, lockPlayerWrites } from "#tools/people/locks.ts";
import { playerWords } from "#tools/people/words.ts";
import { BARRED_STATUSES, isStatus } from "#tools/statuses/players.ts";
import { mergeConsents, refusedBy } from "./consents.ts";
import { moveRecords } from "./move-records.ts";
import { mergeValues } from "./values.ts";

/** A batch's outcomes are recorded shortly after its messages have started. */
const SETTLED_WITHIN_MS = 3_000;

export default tool({
  name: "merge_players",
  title: "Merge two records of one person",
  description:
    "Moves everything of a duplicate player to the kept player, for good. Empty fields of the kept player are filled. A refusal of either wins, and so does the stricter status. The duplicate's waiting messages are cancelled. Imports and events that name the duplicate's player_id reach the kept player from then on.",
  scope: "write",
  effect: "destroy",
  movesPlayers: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("The player who is kept, from list_players"),
    duplicateId: z
      .uuid()
      .describe("The other record of the same person, which is hidden from then on")
      .register(RECORDS, { noun: "player" }),
  },
  output: z.object({
    success: z.literal(true),
    player_id: z.uuid().describe("The kept player"),
    merged_id: z.uuid().describe("The duplicate"),
    refused: z.array(z.enum(CHANNELS)).describe("The channels that the duplicate had refused"),
    granted: z.array(z.enum(CHANNELS)).describe("The duplicate's consents that the kept player took over"),
    moved: z.record(z.string(), z.int()).describe("Rows moved, by table"),
  }),
  faults: ["invalid", "not_found", "conflict", "legal_hold"],
  deadline: 30_000,
  async handler(context, { playerId, duplicateId }) {
    const { sql, emit, audit } = context;
    refuseMasked(context.call, "the messages to a player would go to another address");
    if (playerId === duplicateId) throw invalid("duplicateId", "must be another player than playerId");
    await sql`set local lock_timeout = '20s'`;
    await lockImports(context);
    await lockBoth(context, playerId, duplicateId);
    const words = [await playerWords(context, duplicateId), await playerWords(context, playerId)] as const;
    await stopSends(context, [duplicateId], CHANNELS, "shared_address", { withinMs: SETTLED_WITHIN_MS });
    // Locked late, because it keeps others from storing players. From here on nobody can take the duplicate's player_id.
    await lockPlayerWrites(context);
    await barLeftAddresses(context, [{ id: duplicateId, email: true, phone: true }]);
    const values = await mergeValues(context, playerId, duplicateId);
    await endWithout(context, [duplicateId], await refusedBy(context, playerId));
    const { moved, ...second } = await moveRecords(context, playerId, duplicateId);
    const consents = await mergeConsents(context, playerId, duplicateId);
    const { status } = values;
    if (isStatus(BARRED_STATUSES, status)) {
      await stopSends(context, [playerId], CHANNELS, status);
      if (status === "self_excluded") await suppressAddressesOf(context, [playerId, duplicateId]);
      await endFor(context, [playerId], status);
    }
    context.ask?.({ sentences: () => mergeWords(words, { moved, ...second, ...consents, ...values }) });
    emit("player.merged", { id: playerId, merged_id: duplicateId });
    audit({
      entity: "players",
      entityId: playerId,
      diff: { merged_id: duplicateId, filled: values.filled, moved, ...second, ...consents },
    });
    return { success: true as const, player_id: playerId, merged_id: duplicateId, ...consents, moved };
  },
});

/** Locks both records in the order of their ids, as all writers of several players do. */
async function lockBoth({ sql, property }: Context, ...ids: string[]): Promise<void> {
  const found = await sql<{ id: string; legal_hold: boolean }[]>`
    select id, legal_hold from players
    where property_id = ${property.id} and id = any(${ids}::uuid[]) and deleted_at is null and status <> 'erased'
    order by id for update`;
  const missing = ids.find((id) => !found.some((player) => player.id === id.toLowerCase()));
  if (missing !== undefined) throw noSuch("player", missing);
  if (found.some(({ legal_hold }) => legal_hold)) throw new Fault("legal_hold");
}

interface Merged {
  moved: Record<string, number>;
  cancelled: number;
  ended: number;
  refused: string[];
  granted: string[];
  filled: string[];
  status: string;
}

function mergeWords(
  [duplicate, kept]: readonly [string, string],
  { moved, cancelled, ended, refused, granted, filled, status }: Merged,
): string[] {
  const counts = Object.entries(moved).map(([table, count]) => `${table} ${count}`);
  const listed = (texts: readonly string[]) => texts.join(", ") || "nothing";
  return [
    `This merges ${duplicate} into ${kept} for good. It cannot be undone.`,
    `Moved: ${listed(counts)}. Fields filled: ${listed(filled)}. The status is then ${status}.`,
    ...(cancelled > 0
      ? [
          `${counted(cancelled, "waiting message of the kept player is", "waiting messages of the kept player are")} cancelled: the duplicate has had the same.`,
        ]
      : []),
    ...(ended > 0
      ? [
          `${counted(ended, "entry into a journey ends", "entries into journeys end")}: the other record is in that journey, or was.`,
        ]
      : []),
    `Refusals taken over: ${listed(refused)}. Consents taken over: ${listed(granted)}.`,
  ];
}
