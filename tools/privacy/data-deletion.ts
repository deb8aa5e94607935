import { randomUUID } from "node:crypto";
import { z } from "zod";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { stopAddressSends, stopSends } from "#tools/compliance/sends-under-way.ts";
import { endFor } from "#tools/enrollments/end.ts";
import { keepErasedBar } from "#tools/people/bars.ts";
import { lockImports, lockPlayerWrites } from "#tools/people/locks.ts";
import { playerWords } from "#tools/people/words.ts";
import { type Erased, eraseTraces } from "./erase.ts";
import finishErasure, { recordPass } from "./finish-erasure.job.ts";
import { findPlayer, furtherRecords } from "./player.ts";
import { completeRequest, openRequest } from "./request.ts";
import { type KnownPlayer, type Person, personOf, sharersOf } from "./traces/person.ts";
import type { SettingToReview } from "./traces/trace.ts";

const counts = z.record(z.string(), z.int());

const Result = z.object({
  success: z.literal(true),
  request_id: z.uuid().describe("The privacy request that this completes"),
  deleted: counts.describe("Rows removed, by table"),
  anonymized: counts.describe("Rows kept without the person, by table"),
  retained: z
    .array(z.object({ table: z.string(), basis: z.string() }))
    .describe("The rows that are kept, each with its legal basis"),
  look_at: z
    .array(
      z.object({
        table: z.string(),
        id: z.uuid(),
        column: z.string(),
        text: z.enum(["kept", "removed"]).describe("kept: it may name the player, or mean something else"),
      }),
    )
    .describe(
      "Rules, names and labels of other records for somebody to look at: the first 100. A rule without the player's address may reach others",
    ),
  shared_with: z
    .array(z.uuid())
    .describe(
      "Other players with an address of this one, deleted ones too: their records stay, and the address is barred. Only the first answer lists them",
    ),
});

/** A batch's outcomes are recorded shortly after its messages have started. */
const SETTLED_WITHIN_MS = 3_000;
const LATE_SECONDS = 60;
const MOST_LOOKED_AT = 100;

export default tool({
  name: "data_deletion",
  title: "Erase a player's data",
  description:
    "Erases all data of a player, for good: records, messages, answers stored for replays, callbacks. Sends and consents stay anonymous; a keyed hash of each address prevents messages to it and storing it again. Refused under legal hold. Safe to repeat.",
  scope: "write",
  effect: "destroy",
  core: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("From list_players"),
    reason: z.string().max(2000).optional().describe("Not stored: it may be about the person"),
    requestedBy: z.uuid().optional().describe("The user who requested it. Default: the caller"),
  },
  output: Result,
  faults: ["invalid", "not_found", "conflict", "legal_hold"],
  deadline: 30_000,
  async handler(context, { playerId, requestedBy }) {
    const { sql, call, emit, enqueue, audit } = context;
    await sql`set local lock_timeout = '20s'`;
    if (requestedBy !== undefined) await checkUser(context, requestedBy);
    // Imports take the same lock: a running batch finishes first, and the next batch finds the person barred.
    await lockImports(context);
    const player = await findPlayer(context, playerId, { lock: true });
    if (player.status === "erased") return await formerResult(context, player.id);
    if (player.legal_hold) throw new Fault("legal_hold");
    await stopSends(context, [player.id], CHANNELS, "erased", { withinMs: SETTLED_WITHIN_MS });
    const person = await personOf(context, player);
    const name = await playerWords(context, player.id);
    const requestId = await openRequest(context, "deletion", player.id, requestedBy ?? call.actor.id);
    await endFor(context, [person.id], "erased");
    const further = await furtherRecords(context, player.id, { lock: true });
    if (further.some(({ legal_hold }) => legal_hold)) throw new Fault("legal_hold");
    const { blanked, ...erased } = await eraseTraces(context, person, requestId);
    const all = { ...person, ownHashes: [...person.ownHashes] };
    for (const record of further) all.ownHashes.push(...(await eraseFurther(context, record, erased)));
    const numbers = [player, ...further].map(({ player_id }) => player_id);
    // A merged record has handed its bar on, and people may have lifted it since.
    const statuses = [player, ...further.filter(({ merged_into }) => merged_into === null)].map(
      (one) => one.status,
    );
    if (await keepErasedBar(context, numbers, statuses)) {
      erased.retained.push({
        table: "suppressions",
        basis: "A keyed hash of each player_id keeps the bar on the person",
      });
    }
    erased.look_at = distinct(erased.look_at).slice(0, MOST_LOOKED_AT);
    // Locked last, because it keeps others from storing players. A player stored before is found by now. A later writer
    // waits, and finds the address barred.
    await lockPlayerWrites(context);
    await stopSharersSends(context, all);
    const shared_with = await sharersOf(context, all);
    await completeRequest(context, requestId, erased);
    context.ask?.({ state: `${player.id} ${name}`, sentences: () => erasureWords(name, erased) });
    emit("player.erased", { id: player.id, request_id: requestId });
    enqueue(finishErasure, { playerId: player.id, hashes: person.hashes }, { runAt: LATE_SECONDS });
    audit({
      entity: "privacy_requests",
      entityId: requestId,
      diff: { player_id: player.id, blanked, deleted: erased.deleted, anonymized: erased.anonymized },
    });
    return { success: true as const, request_id: requestId, ...erased, shared_with };
  },
});

/** Erases another record of the person, adds the numbers to `erased`, and answers the hashes of its addresses. */
async function eraseFurther(
  context: Context,
  record: KnownPlayer,
  erased: Omit<Erased, "blanked">,
): Promise<string[]> {
  const person = await personOf(context, record);
  const pass = randomUUID();
  const more = await eraseTraces(context, person, pass);
  await recordPass(context, pass, more);
  for (const kind of ["deleted", "anonymized"] as const) {
    for (const [table, rows] of Object.entries(more[kind])) {
      erased[kind][table] = (erased[kind][table] ?? 0) + rows;
    }
  }
  erased.look_at.push(...more.look_at);
  const known = new Set(erased.retained.map(({ table }) => table));
  erased.retained.push(...more.retained.filter(({ table }) => !known.has(table)));
  context.enqueue(finishErasure, { playerId: record.id, hashes: person.hashes }, { runAt: LATE_SECONDS });
  return person.ownHashes;
}

/** The records of a person share names, and so the texts that have them. */
function distinct(looks: readonly SettingToReview[]): SettingToReview[] {
  return [...new Map(looks.map((look) => [JSON.stringify(look), look])).values()];
}

/**
 * Stops messages to other players with an address of the person: campaigns have gone on meanwhile. None of them has
 * planned a message to the person, because its row refers to the player's, which is locked.
 */
async function stopSharersSends(context: Context, { ownHashes }: Person): Promise<void> {
  const hashes = ownHashes.map((hash) => Buffer.from(hash, "hex"));
  await stopAddressSends(context, hashes, CHANNELS, "erased");
}

function erasureWords(
  name: string,
  { deleted, anonymized, look_at }: Pick<z.output<typeof Result>, "deleted" | "anonymized" | "look_at">,
): string[] {
  const listed = (rows: Record<string, number>) =>
    Object.entries(rows)
      .filter(([, count]) => count > 0)
      .map(([table, count]) => `${table} ${count}`)
      .join(", ") || "nothing";
  return [
    `This erases ${name} for good. It cannot be undone.`,
    `Deleted: ${listed(deleted)}. Kept without the person: ${listed(anonymized)}.`,
    ...(look_at.length > 0
      ? [
          `${counted(look_at.length, "rule, name or label needs", "rules, names or labels need")} a look afterwards.`,
        ]
      : []),
  ];
}

/** The record of an erasure says who asked for it: a user of this property, or a platform admin. */
async function checkUser({ sql }: Context, id: string): Promise<void> {
  const [row] = await sql<{ known: boolean }[]>`select is_user(${id}::uuid) as known`;
  if (row?.known) return;
  throw invalid("requestedBy", "is no user of this property; list_users shows the users");
}

/** The result of the earlier erasure. */
async function formerResult({ sql, property, audit }: Context, playerId: string) {
  const [request] = await sql<
    { id: string; result: Omit<z.output<typeof Result>, "success" | "request_id" | "shared_with"> }[]
  >`
    select id, result from privacy_requests
    where property_id = ${property.id} and player_id = ${playerId} and type = 'deletion' and status = 'completed'
      and result is not null
    order by completed_at limit 1`;
  audit({ action: "data_deletion_repeated", entity: "privacy_requests", entityId: request?.id ?? null });
  if (!request) throw new Fault("conflict", { message: "This player's data was erased." });
  return { success: true as const, request_id: request.id, ...request.result, shared_with: [] };
}
