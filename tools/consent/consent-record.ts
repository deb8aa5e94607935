import { z } from "zod";
import { Fault, invalid, one } from "#runtime/faults.ts";
import { ipAddress, pastTime, timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { CHANNELS, type Channel } from "#tools/compliance/channels.ts";
import { stopSends } from "#tools/compliance/sends-under-way.ts";
import { endWithout } from "#tools/enrollments/end.ts";
import { addressHash } from "#tools/people/address.ts";
import { playerWords } from "#tools/people/words.ts";
import { CONSENT_LEVELS, type ConsentLevel } from "./consent-records.table.ts";
import { type ConsentEvidence, hasEvidence, usualLevel } from "./evidence.ts";
import { announceAnswer, record } from "./ledger.ts";
import { checkLifts, type StandingRefusal, standingRefusal } from "./refusal.ts";

const text = (most: number) => z.string().max(most).optional();

export default tool({
  name: "consent_record",
  title: "Record a consent",
  description:
    "Writes a player's consent, or refusal, for a channel into the ledger. An express consent with a consentSource is a new opt-in: it lifts that channel's older suppressions of reason unsubscribed or stop_keyword. complaint, hard_bounce, manual, import, erased and self_excluded stay, and so do suppressions of all channels. Only the person lifts a refusal or revocation: consentSource, consentText or consentVersion, and a later occurredAt are required then. Agents always give the evidence, confirm each consent, and stand in the ledger with the method mcp.",
  scope: "write",
  effect: "change",
  asks: true,
  movesPlayers: true,
  core: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("From list_players"),
    channel: z.enum(CHANNELS).describe("The channel that the consent is for"),
    consentGiven: z.boolean().describe("false: a refusal"),
    consentSource: text(500).describe("Where it was given, such as a web form; agents must say"),
    consentText: text(20_000).describe("The wording that the player saw"),
    consentVersion: text(200).describe("The version of the wording"),
    ipAddress: ipAddress().optional().describe("The person's own; never the calling server's"),
    consentLevel: z
      .enum(CONSENT_LEVELS)
      .optional()
      .describe("Default: express; for voice with source and wording express_written, which calls need"),
    occurredAt: pastTime().optional().describe("When it was given; not in the future. Default: now"),
    expiresAt: timestamp().optional().describe("When it ends. Default: it does not"),
  },
  output: z.object({ success: z.literal(true), consent_id: z.uuid() }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, asked) {
    const input = { ...asked, consentLevel: asked.consentLevel ?? usualLevel(asked.channel, asked) };
    const { channel, consentGiven: given } = input;
    await requirePlayer(context, input.playerId);
    if (!given && input.expiresAt !== undefined)
      throw invalid("expiresAt", "belongs to a consent that is given");
    if (given) await checkGrant(context, input);
    const [row] = await record(context, {
      playerIds: [input.playerId],
      channels: [channel],
      action: given ? "granted" : "denied",
      level: input.consentLevel,
      source: input.consentSource,
      text: input.consentText,
      version: input.consentVersion,
      ip: input.ipAddress,
      occurredAt: input.occurredAt,
      expiresAt: input.expiresAt,
    });
    const { id, player_id, occurred_at } = row!;
    if (given && input.consentLevel !== "implied" && input.consentSource) {
      await liftWishes(context, player_id, channel, occurred_at);
    }
    if (!given) await heedRefusal(context, player_id, channel);
    announceAnswer(context, row!);
    context.audit({ entity: "consent_records", entityId: id });
    return { success: true as const, consent_id: id };
  },
});

/** After the answer a message on the channel starts only if the player has agreed later than this refusal. */
async function heedRefusal(context: Context, playerId: string, channel: Channel): Promise<void> {
  const { sql, property } = context;
  const [player] = await sql<{ refuses: boolean }[]>`
    select consents ->> ${channel} = 'false' as refuses from players
    where property_id = ${property.id} and id = ${playerId}`;
  if (!player!.refuses) return;
  await stopSends(context, [playerId], [channel], "no_consent");
  await endWithout(context, [playerId], [channel]);
}

interface Grant extends ConsentEvidence {
  playerId: string;
  channel: Channel;
  consentLevel: ConsentLevel;
  occurredAt?: string | undefined;
}

/** An agent has not heard the person: it always brings evidence, and asks before it lifts a refusal. */
async function checkGrant(context: Context, grant: Grant): Promise<void> {
  const { playerId, channel, consentSource, consentLevel, occurredAt } = grant;
  if (context.call.transport === "mcp" && !hasEvidence(grant)) {
    throw invalid(
      "consentSource",
      "a consent is recorded with its evidence: give consentSource, and consentText or consentVersion",
    );
  }
  if (consentLevel === "express_written" && !hasEvidence(grant)) {
    throw invalid(
      "consentSource",
      "a written consent is recorded with its evidence: give consentSource, and consentText or consentVersion",
    );
  }
  const refusal = await standingRefusal(context, playerId, channel, occurredAt);
  if (!refusal) return askAgent(context, grant);
  // A consent without a source, or from before the refusal, leaves the address barred.
  const lifts = consentSource !== undefined && (occurredAt === undefined || refusal.isEarlier);
  if (!refusal.isWord && !lifts) return askAgent(context, grant);
  checkLifts(refusal, channel, hasEvidence(grant) && consentLevel !== "implied");
  context.ask?.({ sentences: () => liftingWords(context, grant, refusal) });
}

/** An agent that invents evidence opens a channel, so a person reads it first. */
function askAgent(context: Context, grant: Grant): void {
  if (context.call.transport !== "mcp") return;
  const { playerId, channel } = grant;
  context.ask?.({
    sentences: async () => [
      `Records that ${await playerWords(context, playerId)} has agreed to marketing by ${channel}. The ledger will say that an agent has recorded it.`,
      evidenceWords(grant),
    ],
  });
}

function evidenceWords({ consentSource, consentText, consentVersion, occurredAt = "now" }: Grant): string {
  const wording = JSON.stringify(consentText ?? consentVersion);
  return `The evidence: agreed on ${occurredAt}, at ${JSON.stringify(consentSource)}, to ${wording}.`;
}

async function liftingWords(context: Context, grant: Grant, { at }: StandingRefusal): Promise<string[]> {
  const { playerId, channel } = grant;
  return [
    `This lifts a refusal: ${await playerWords(context, playerId)} refused ${channel} on ${at}, and may be written to again.`,
    evidenceWords(grant),
  ];
}

async function requirePlayer({ sql, property }: Context, id: string): Promise<void> {
  const players = await sql<{ status: string }[]>`
    select status from players
    where property_id = ${property.id} and id = ${id} and deleted_at is null for update`;
  const player = one(players, "player", id);
  if (player.status === "erased") throw new Fault("conflict", { message: "This player's data was erased." });
}

/**
 * Lifts the player's own suppressions that are older than the consent, unless a later ledger row revokes it. A former
 * address may be another person's now: it stays barred, and the player no longer is by it.
 */
export async function liftWishes(
  { sql, property, call, emit }: Context,
  playerId: string,
  channel: Channel,
  occurredAt: string,
): Promise<void> {
  const hash = channel === "email" ? sql`p.email_hash` : sql`p.phone_hash`;
  const own = sql`(s.channel = 'push' or s.address_hash = ${hash}
    or s.address_hash = ${addressHash(property.pepper, `player:${playerId}`)})`;
  const older = sql`
    p.property_id = ${property.id} and p.id = ${playerId} and p.consents ->> ${channel} = 'true'
      and s.property_id = ${property.id} and s.channel = ${channel} and s.lifted_at is null
      and s.reason in ('unsubscribed', 'stop_keyword') and s.updated_at <= ${occurredAt}::timestamptz
      and (s.player_id = p.id or s.address_hash = ${hash})`;
  const lifted = await sql<{ id: string; channel: string; reason: string; player_id: string | null }[]>`
    update suppressions s set lifted_at = now(), lifted_by = ${call.actor.id}, updated_at = now()
    from players p where ${older} and coalesce(${own}, false)
    returning s.id, s.channel, s.reason, s.player_id`;
  await sql`update suppressions s set player_id = null from players p where ${older}`;
  for (const one of lifted) emit("player.suppression_lifted", one);
}
