import type { Context } from "#runtime/context.ts";
import { Fault, type FaultDetail, invalid } from "#runtime/faults.ts";
import { verdictsOn } from "#tools/compliance/verdicts.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/players/address.ts";
import type { VendorChannel } from "#tools/providers/provider.ts";
import { ADDRESSES, sendingChannel } from "./addresses.ts";
import type { Campaign } from "./campaign.ts";
import type { Recipient } from "./claim.ts";
import type { Content } from "./content.ts";
import { completePlayer, PLAYER_FIELDS } from "./player-fields.ts";
import { readinessOn } from "./readiness.ts";

/** Who gets a test. `staff`: a user of the property; the player is then the one whose values fill it, if any. */
export interface TestRecipient {
  address: string;
  hash: Buffer;
  playerId: string | null;
  staff: boolean;
}

type Tested =
  | { channel: VendorChannel; content: Content<VendorChannel>; problems: [] }
  | { channel: VendorChannel; content: null; problems: FaultDetail[] };

/** The campaign's message as it is now, or what stands in its way. An audience is none of it. */
export async function testContent(context: Context, campaign: Campaign): Promise<Tested> {
  const channel = sendingChannel(campaign);
  if (channel === "inbox") throw invalid("channel", `is ${campaign.channel}; tests go by email and sms`);
  const everyone: Campaign = { ...campaign, audience: "all", segment_id: null, conditions: null };
  return { channel, ...(await readinessOn<VendorChannel>(channel, context, everyone)) };
}

/** The variant that a test shows: the one that is asked for, else the first; null where there are none. */
export function testedVariant({ variants = [] }: Content, wanted?: string | null): string | null {
  if (wanted == null || variants.includes(wanted)) return wanted ?? variants[0] ?? null;
  throw invalid("variantId", `the campaign has ${variants.length > 0 ? variants.join(", ") : "no variants"}`);
}

/** Whom a test is for. Throws `invalid` for an address that is nobody's who may get one. */
export async function recipientOf(
  context: Context,
  channel: VendorChannel,
  { to, playerId = null }: { to?: string | undefined; playerId?: string | null | undefined },
): Promise<TestRecipient> {
  if (to === undefined && playerId === null) throw invalid("to", "give to, playerId, or both");
  if (to === undefined) return playerRecipient(context, channel, playerId!);
  const { sql, property } = context;
  const address = channel === "email" ? normalizeEmail(to) : normalizePhone(to, property.default_country);
  if (address === null)
    throw invalid("to", `is not ${channel === "email" ? "an email address" : "a phone number"}`);
  const hash = addressHash(property.pepper, address);
  const [found] = await sql<{ staff: boolean; player: string | null }[]>`
    select is_staff(${address}) as staff, (
      select p.id from players p
      where p.property_id = ${property.id} and ${sql.unsafe(ADDRESSES[channel].hash)} = ${hash} and p.deleted_at is null
      order by p.id limit 1) as player`;
  if (found!.staff) return { address, hash, playerId, staff: true };
  if (found!.player === null || (playerId !== null && playerId !== found!.player)) {
    throw invalid("to", "is neither the address of a user of this property nor that of the player");
  }
  return { address, hash, playerId: found!.player, staff: false };
}

async function playerRecipient(
  context: Context,
  channel: VendorChannel,
  playerId: string,
): Promise<TestRecipient> {
  const { sql, property } = context;
  const { address, hash } = ADDRESSES[channel];
  const [player] = await sql<{ address: string | null; hash: Buffer | null }[]>`
    select ${sql.unsafe(address)} as address, ${sql.unsafe(hash)} as hash from players p
    where p.property_id = ${property.id} and p.id = ${playerId} and p.deleted_at is null`;
  if (!player)
    throw new Fault("not_found", { message: `No player with the id ${playerId} in this property.` });
  if (player.address === null || player.hash === null) {
    throw invalid("playerId", `the player has no ${channel === "email" ? "email" : "phone"}`);
  }
  return { address: player.address, hash: player.hash, playerId, staff: false };
}

// A user of the property needs no consent to see the property's own message.
const NOT_OF_STAFF = ["no_consent", "consent_expired"];

/** The gate's reasons against a test now, what only postpones a player's included, and from when it may go. */
export async function reasonsAgainst(
  context: Context,
  channel: VendorChannel,
  { address, hash, playerId, staff }: TestRecipient,
): Promise<{ reasons: string[]; retryAt: string | null }> {
  const whom = staff
    ? { address, hash: hash.toString("hex"), player: null }
    : { address: null, hash: null, player: playerId };
  const [verdict] = await verdictsOn(context, channel, [whom]);
  const { reasons, defer_reasons, retry_at } = verdict!;
  if (staff) return { reasons: reasons.filter((reason) => !NOT_OF_STAFF.includes(reason)), retryAt: null };
  return { reasons: [...reasons, ...defer_reasons], retryAt: reasons.length === 0 ? retry_at : null };
}

/** Throws `conflict`, naming why the gate stops a test now. */
export async function assertAllowed(
  context: Context,
  channel: VendorChannel,
  recipient: TestRecipient,
): Promise<void> {
  const { reasons, retryAt } = await reasonsAgainst(context, channel, recipient);
  if (reasons.length === 0) return;
  const then = retryAt === null ? "" : ` It may go from ${retryAt} on.`;
  throw new Fault("conflict", { message: `The compliance gate stops it: ${reasons.join(", ")}.${then}` });
}

/** What the message is filled with: a player's values, or samples. */
export async function valuesFor(
  { sql, property }: Context,
  sendId: string,
  { address, playerId }: TestRecipient,
): Promise<Recipient> {
  const fields = sql.unsafe(PLAYER_FIELDS.map((field) => `p."${field}"`).join(", "));
  const [player] =
    playerId === null
      ? [completePlayer([])]
      : await sql<Record<string, unknown>[]>`
          select ${fields} from players p
          where p.property_id = ${property.id} and p.id = ${playerId} and p.deleted_at is null`;
  if (!player)
    throw new Fault("not_found", { message: `No player with the id ${playerId} in this property.` });
  return { ...player, send_id: sendId, address };
}
