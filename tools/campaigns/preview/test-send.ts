import { sql as fragment, raw } from "#db/sql.ts";
import { callTimesOf, PROVIDERS } from "#runtime/channels/index.ts";
import { Fault, type FaultDetail, invalid, one } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import type { Content, Recipient } from "#tools/campaigns/content/content.ts";
import { withVariant } from "#tools/campaigns/content/variants.ts";
import { LEAD_SECONDS } from "#tools/campaigns/delivery/claim.ts";
import { compileContent } from "#tools/campaigns/preflight/readiness.ts";
import { verdictsOn } from "#tools/compliance/verdicts.ts";
import {
  ADDRESS_COLUMNS,
  addressHash,
  maskAddress,
  normalizeEmail,
  normalizePhone,
} from "#tools/people/address.ts";
import type { VendorChannel } from "#tools/providers/provider.ts";
import { devicesOf } from "#tools/push-subscriptions/subscription.ts";
import { completePlayer, PLAYER_FIELDS } from "#tools/templates/rendering/liquid.ts";
import { longestCall, voiceLaws } from "#tools/voice/law/law.ts";

/** The recipient of a test. `staff`: a user of the property; a player then only fills the message with values. */
export interface TestRecipient {
  address: string;
  hash: Buffer;
  playerId: string | null;
  staff: boolean;
}

type TestContent =
  | { channel: VendorChannel; content: Content<VendorChannel>; problems: [] }
  | { channel: VendorChannel; content: null; problems: FaultDetail[] };

/** The campaign's message as it is now, or its problems. */
export async function testContent(context: Context, campaign: Campaign): Promise<TestContent> {
  const channel = sendingChannel(campaign);
  if (channel === "inbox")
    throw invalid("channel", `is ${campaign.channel}; tests go by email, sms, voice and push`);
  return { channel, ...(await compileContent<VendorChannel>(channel, context, toEverybody(campaign))) };
}

/** The campaign with an audience: a test needs none of its own. */
export function toEverybody(campaign: Campaign): Campaign {
  return { ...campaign, audience: "all", segment_id: null, conditions: null };
}

/** The campaign as the test of one variant sends it. */
export function asTested(campaign: Campaign, tested: string | null): Campaign {
  const variant = campaign.ab_test?.variants.find(({ id }) => id === tested);
  return toEverybody(variant ? { ...withVariant(campaign, variant), ab_test: null } : campaign);
}

/** The variant of a test: the requested one, else the first; null without variants. */
export function testedVariant({ variants = [] }: Content, requested?: string | null): string | null {
  if (requested == null || variants.includes(requested)) return requested ?? variants[0] ?? null;
  throw invalid("variantId", `the campaign has ${variants.length > 0 ? variants.join(", ") : "no variants"}`);
}

/** The address of a test as answers show it. A player's browsers have none. */
export function shownAddress(channel: VendorChannel, { address }: TestRecipient): string {
  return channel === "push" ? address : maskAddress(address);
}

/** The recipient of a test. Throws `invalid` for an address of neither a user nor the player. */
export async function recipientOf(
  context: Context,
  channel: VendorChannel,
  { to, playerId = null }: { to?: string | undefined; playerId?: string | null | undefined },
): Promise<TestRecipient> {
  if (to === undefined && playerId === null) throw invalid("to", "give to, playerId, or both");
  if (to === undefined) return playerRecipient(context, channel, playerId!);
  if (channel === "push") throw invalid("to", "push goes to a player's browsers; give playerId");
  const { sql, property } = context;
  const address = channel === "email" ? normalizeEmail(to) : normalizePhone(to, property.default_country);
  if (address === null)
    throw invalid("to", `is not ${channel === "email" ? "an email address" : "a phone number"}`);
  const hash = addressHash(property.pepper, address);
  // Alone: in a statement over players, a distributed database would run the function on each of its workers.
  const [user] = await sql<[{ staff: boolean }]>`select is_staff(${address}) as staff`;
  if (user.staff) {
    if (playerId !== null) refuseMasked(context.call, "the message shows the player's to a user");
    return { address, hash, playerId, staff: true };
  }
  const [player] = await sql<{ id: string }[]>`
    select p.id from players p
    where p.property_id = ${property.id} and ${ADDRESS_COLUMNS[channel].hash} = ${hash} and p.deleted_at is null
    order by p.id limit 1`;
  if (!player || (playerId !== null && playerId !== player.id)) {
    throw invalid("to", "is neither the address of a user of this property nor that of the player");
  }
  return { address, hash, playerId: player.id, staff: false };
}

async function playerRecipient(
  { sql, property }: Tenant,
  channel: VendorChannel,
  playerId: string,
): Promise<TestRecipient> {
  const { address, hash } = ADDRESS_COLUMNS[channel];
  const players = await sql<{ address: string | null; hash: Buffer | null }[]>`
    select ${address} as address, ${hash} as hash from players p
    where p.property_id = ${property.id} and p.id = ${playerId} and p.deleted_at is null`;
  const player = one(players, "player", playerId);
  if (player.address === null || player.hash === null) {
    throw invalid("playerId", `the player has no ${channel === "email" ? "email" : "phone"}`);
  }
  return { address: player.address, hash: player.hash, playerId, staff: false };
}

/** Seconds. No provider lets a phone ring longer. */
const LONGEST_RING = Math.max(...Object.keys(PROVIDERS.voice).map((name) => callTimesOf(name)?.rings ?? 0));

// A user of the property needs no consent to see the property's own message.
const NOT_OF_STAFF = ["no_consent", "consent_expired"];

/** The gate's reasons against a test now, also those that only postpone a message, and the time when it may go. */
export async function reasonsAgainst(
  context: Context,
  channel: VendorChannel,
  { address, hash, playerId, staff }: TestRecipient,
): Promise<{ reasons: string[]; retryAt: string | null }> {
  const person = staff
    ? { address, hash: hash.toString("hex"), player: null }
    : { address: null, hash: null, player: playerId };
  const lead = channel === "voice" ? { lead: await wholeCall(context) } : {};
  const [verdict] = await verdictsOn(context, channel, [person], lead);
  const { reasons, defer_reasons, retry_at } = verdict!;
  if (staff) return { reasons: reasons.filter((reason) => !NOT_OF_STAFF.includes(reason)), retryAt: null };
  return { reasons: [...reasons, ...defer_reasons], retryAt: reasons.length === 0 ? retry_at : null };
}

/** The longest call by any provider, which must end before the open hours do. */
async function wholeCall(context: Tenant): Promise<string> {
  return `interval '${Math.ceil(longestCall(await voiceLaws(context), LONGEST_RING) + LEAD_SECONDS)} seconds'`;
}

/** Throws `conflict`, naming the gate's reasons against a test now. */
export async function assertAllowed(
  context: Context,
  channel: VendorChannel,
  recipient: TestRecipient,
): Promise<void> {
  const { reasons, retryAt } = await reasonsAgainst(context, channel, recipient);
  if (reasons.length === 0) return;
  const later = retryAt === null ? "" : ` It may go from ${retryAt} on.`;
  throw new Fault("conflict", { message: `The compliance gate stops it: ${reasons.join(", ")}.${later}` });
}

/** The values for the message: the player's, or samples. */
export async function valuesFor(
  { sql, property }: Tenant,
  channel: VendorChannel,
  sendId: string,
  { address, playerId }: TestRecipient,
): Promise<Recipient> {
  const named = raw(PLAYER_FIELDS.map((field) => `p."${field}"`).join(", "));
  const devices =
    channel === "push" ? fragment`, ${devicesOf(fragment`${property.id}::uuid`)} as devices` : fragment``;
  const fields = fragment`${named}${devices}`;
  const players =
    playerId === null
      ? [completePlayer([])]
      : await sql<Record<string, unknown>[]>`
          select ${fields} from players p
          where p.property_id = ${property.id} and p.id = ${playerId} and p.deleted_at is null`;
  return { ...one(players, "player", playerId), send_id: sendId, address };
}
