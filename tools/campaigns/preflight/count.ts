import { z } from "zod";
import { toFault } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { hasAudience, type Judged } from "#tools/campaigns/planning/audience.ts";
import { ADDRESS_BYTES, type Judgement, judgePage } from "#tools/campaigns/planning/judge.ts";
import type { NoConsent } from "#tools/campaigns/stats/answer.ts";
import { firstReason } from "#tools/campaigns/stats/stats.ts";

const PAGE = 20_000;
const NOBODY_ALLOWED = "nobody in the audience may be sent to now; see blocked";

/** The allowed who wait. */
export const Deferred = z
  .record(z.string(), z.object({ count: z.int(), first_at: timestamp(), last_at: timestamp() }))
  .describe("Of the allowed: those that wait, by reason, and the first and last time of their messages");

export interface Counted {
  audience: number;
  allowed: number;
  blocked: Record<string, number>;
  noConsent: z.output<typeof NoConsent>;
  deferred: z.output<typeof Deferred>;
  /** The count has reached the whole audience. */
  isWhole: boolean;
  /** The audience is empty. */
  isEmpty: boolean;
  warnings: string[];
}

/**
 * Judges the players of an audience by the gate, page by page, for `countForMs` at the most. Writes nothing. Strict, it
 * throws for an audience that cannot be evaluated; else it counts nobody.
 */
export async function countAudience(
  context: Tenant,
  campaign: Judged,
  countForMs: number,
  { isStrict = false }: { isStrict?: boolean } = {},
): Promise<Counted> {
  const counted: Counted = {
    audience: 0,
    allowed: 0,
    blocked: {},
    noConsent: { refused: 0, insufficient: 0, never_asked: 0, no_address: 0 },
    deferred: {},
    isWhole: false,
    isEmpty: false,
    warnings: [],
  };
  if (!hasAudience(campaign)) return counted;
  const startedAt = performance.now();
  const addresses = new Set<number>();
  for (let cursor: string | null = null; ; ) {
    const page: Judgement | null = await judgePage(context, campaign, cursor, PAGE).catch(
      (error: unknown) => {
        if (isStrict) throw error;
        return nullIfRefused(error);
      },
    );
    if (!page) return counted;
    counted.audience += page.count;
    for (const { reasons, cause, count } of page.blocked) {
      const reason = firstReason(reasons);
      addBlocked(counted, reason, count);
      if (reason === "no_consent") counted.noConsent[cause] += count;
    }
    for (const one of page.deferred) addDeferred(counted, one, addresses);
    addBlocked(counted, "duplicate_address", addNew(addresses, page.addresses));
    counted.allowed = addresses.size;
    counted.isWhole = page.count < PAGE;
    if (counted.isWhole) break;
    if (performance.now() - startedAt > countForMs) {
      counted.warnings.push(`only the first ${counted.audience} players of the audience were counted`);
      break;
    }
    cursor = page.last;
  }
  counted.blocked = mostFirst(counted.blocked);
  counted.isEmpty = counted.audience === 0;
  if (counted.audience > 0 && counted.allowed === 0) counted.warnings.push(NOBODY_ALLOWED);
  return counted;
}

function addBlocked({ blocked }: Counted, reason: string, count: number): void {
  if (count > 0) blocked[reason] = (blocked[reason] ?? 0) + count;
}

/** The database groups in any order, and an answer has one. */
function mostFirst(counts: Readonly<Record<string, number>>): Record<string, number> {
  const byName = Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(byName.sort(([, one], [, other]) => other - one));
}

/** Addresses that earlier pages had get no second message. */
function addDeferred(
  { deferred }: Counted,
  { reason, addresses, ...times }: Judgement["deferred"][number],
  known: ReadonlySet<number>,
): void {
  const count = addressesOf(Buffer.from(addresses, "base64")).filter((address) => !known.has(address)).length;
  if (count === 0) return;
  const { first_at, last_at, ...before } = deferred[reason] ?? { count: 0, ...times };
  deferred[reason] = {
    count: before.count + count,
    first_at: [first_at, times.first_at].sort()[0]!,
    last_at: [last_at, times.last_at].sort()[1]!,
  };
}

/** Answers the number of the page's addresses that earlier pages had: planning skips these. */
function addNew(known: Set<number>, page: Buffer): number {
  const before = known.size;
  const addresses = addressesOf(page);
  for (const address of addresses) known.add(address);
  return addresses.length - (known.size - before);
}

function addressesOf(page: Buffer): number[] {
  return Array.from({ length: page.length / ADDRESS_BYTES }, (_, at) =>
    page.readUIntBE(at * ADDRESS_BYTES, ADDRESS_BYTES),
  );
}

/** The errors already name a missing segment, and rules that do not compile. */
function nullIfRefused(error: unknown): null {
  if (toFault(error).status >= 500) throw error;
  return null;
}
