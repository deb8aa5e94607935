import { z } from "zod";
import { sql as part } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Call, Context, Tenant } from "#runtime/operation/context.ts";
import { hasOutgrown, type Property } from "#runtime/operation/property.ts";
import type { Audience } from "#tools/segments/rules/compile.ts";
import { type Referred, referredBy, within } from "#tools/segments/rules/references.ts";

/** The parts of what people approve. */
export const PARTS = ["content", "audience", "channel", "time", "flags", "provider", "variants"] as const;
type Part = (typeof PARTS)[number];

/** The fields of a part, each with the words that name it. */
export type Fields = Readonly<Record<string, { words: string; value: unknown }>>;

/** A state to approve, by its parts. */
export type Approvable = Readonly<Record<Part, Fields>>;

/** As a record keeps it: hashes alone, so that nobody's data stays behind in it. */
export const Prints = z.record(
  z.string(),
  z.record(z.string(), z.object({ words: z.string(), hash: z.string() })),
);
export type Prints = z.output<typeof Prints>;

/** An approval as its record answers it. */
export const Approval = z.object({
  by: z
    .object({ type: z.string(), id: z.uuid().nullable() })
    .describe("The credential of the approving call"),
  at: timestamp(),
  content_hash: z.string(),
  audience_hash: z.string(),
  flags: z.array(z.string()).describe("Flags that are on"),
  count: z.int().nullable().describe("Players of the audience that were shown; null where nobody was asked"),
});
export type Approval = z.output<typeof Approval>;

const hashOf = (value: unknown) => canonicalHash({ value }).toString("hex");

/** The hash of each field. */
export function printsOf(approvable: Partial<Approvable>): Prints {
  const parts = Object.entries(approvable).map(([part, fields]) => {
    const prints = Object.entries(fields).map(([name, { words, value }]) => [
      name,
      { words, hash: hashOf(value) },
    ]);
    return [part, Object.fromEntries(prints)];
  });
  return Object.fromEntries(parts);
}

/** The key of a segment among the fields of an audience. */
const segmentKey = (id: string) => `segment ${id}`;

/** The key of an audience whose rules name a record that is gone, or go too deep: nobody is in it. */
const UNREADABLE = "references";

/** The keys of approved audiences in which a change of these segments can show. Unreadable rules may name any. */
export const segmentKeys = (ids: readonly string[]) => [...ids.map(segmentKey), UNREADABLE];

/** The rules of all segments that an audience refers to, also through other segments, as its fields. */
export async function segmentFields(referred: Promise<Pick<Referred, "segments">>): Promise<Fields> {
  try {
    const { segments } = await referred;
    return Object.fromEntries(
      segments.map(({ id, name, ...rules }) => [
        segmentKey(id),
        { words: `the rules of the segment ${JSON.stringify(name)}`, value: rules },
      ]),
    );
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    return { [UNREADABLE]: { words: "a record that the audience's rules name", value: fault.message } };
  }
}

/** Whether somebody is shown the numbers of the call: the agent, or a person who may have to approve it. */
export function countsPeople({ transport, review }: Call): boolean {
  return transport === "mcp" || review !== undefined;
}

/** Names the fields that are not as they were approved. Parts that `present` leaves out are not compared. */
export function changesSince(approved: Prints | null, present: Prints): string[] {
  if (approved === null) return ["nobody has approved it"];
  const changes = Object.entries(present).flatMap(([part, fields]) => {
    const before = approved[part] ?? {};
    const names = [...new Set([...Object.keys(before), ...Object.keys(fields)])];
    return names.flatMap((name) =>
      before[name]?.hash === fields[name]?.hash ? [] : [(fields[name] ?? before[name])!.words],
    );
  });
  return [...new Set(changes)];
}

/** The hash of each field, by its words. */
export function factsOf(prints: Prints): Record<string, string> {
  const fields = Object.values(prints).flatMap((part) => Object.values(part));
  return Object.fromEntries(fields.map(({ words, hash }) => [words, hash]));
}

/** The hashes of segments' rules, as a proposal keeps them. */
export function rulesFacts(segments: readonly Audience[]): Record<string, string> {
  const facts = segments.map(({ id: _, name, ...rules }) => [
    `the rules of the segment ${JSON.stringify(name)}`,
    canonicalHash(rules).toString("hex"),
  ]);
  return Object.fromEntries(facts);
}

/** The hash of all players of the rows, as SQL over their `player_id`. */
export const hashOfPlayers = part`encode(sha256(convert_to(coalesce(string_agg(player_id::text, ',' order by player_id), ''), 'UTF8')), 'hex')`;

/** Hashes of the players of lists, by the words that name each list. */
export type Lists = Readonly<Record<string, string>>;

/** The hashes of the players of lists. A list can get other players meanwhile, and as many. */
export async function listFacts(
  { sql, property }: Tenant,
  segments: readonly Audience[],
): Promise<Record<string, string>> {
  const facts: Record<string, string> = {};
  for (const { id, name, type } of segments) {
    if (type !== "static") continue;
    const [row] = await sql<{ hash: string }[]>`
      select ${hashOfPlayers} as hash from segment_members where property_id = ${property.id} and segment_id = ${id}`;
    facts[`the players of the list ${JSON.stringify(name)}`] = row!.hash;
  }
  return facts;
}

/** The hashes of a segment's rules, and of the rules and lists that it refers to. */
export async function segmentFacts(context: Tenant, segmentId: string): Promise<Record<string, string>> {
  const { segments } = await referredBy(context.sql, context.property.id, within(segmentId));
  return { ...rulesFacts(segments), ...(await listFacts(context, segments)) };
}

/** The approval that this call gives. */
export function approvalOf(
  { call, now }: Pick<Context, "call" | "now">,
  prints: Prints,
  { flags, count }: Pick<Approval, "flags" | "count">,
): Approval {
  return {
    by: { type: call.actor.type, id: call.actor.id },
    at: new Date(now()).toISOString(),
    content_hash: hashOf(prints.content ?? {}),
    audience_hash: hashOf(prints.audience ?? {}),
    flags,
    count,
  };
}

/** The input of an operation that sends only the campaign that was checked. */
export const fingerprintInput = z
  .string()
  .optional()
  .describe(
    "From preflight_campaign: refused where the message, the audience or the provider is another one by now",
  );

interface Shown {
  prints: Prints;
  lists: Lists;
  /** Players of the audience. */
  count: number | null;
}

/**
 * The fingerprint of all that a campaign sends, with the players of its lists, and behind it their number. The hour is
 * left out: scheduling sets it after the check.
 */
export function fingerprintOf({ id }: { id: string }, { prints, lists, count }: Shown): string {
  const { time: _, flags = {}, ...parts } = prints;
  const { clock: __, ...rules } = flags;
  const hash = canonicalHash({ id, ...parts, flags: rules, lists, count }).toString("hex");
  return `${hash}-${count ?? ""}`;
}

/** Answers the number that was shown with the fingerprint. Throws `conflict` unless the campaign is the checked one. */
export function checkFingerprint(
  property: Property,
  record: { id: string },
  present: Shown,
  checked: string,
): number | null {
  const digits = /-(\d+)$/.exec(checked)?.[1];
  const shown = digits === undefined ? null : Number(digits);
  if (fingerprintOf(record, { ...present, count: shown }) !== checked) {
    throw changed("is not that of the campaign, which has changed since");
  }
  const { count } = present;
  if (shown !== null && count !== null && hasOutgrown(property, shown, count)) {
    throw changed(
      `is that of an audience which has grown from ${shown} to ${counted(count, "player")} since`,
    );
  }
  return shown;
}

function changed(why: string): Fault {
  const message = `${why}; preflight_campaign checks it again`;
  return new Fault("conflict", { message, details: [{ field: "fingerprint", message }] });
}
