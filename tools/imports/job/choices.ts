import { counted } from "#runtime/counted.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import type { ImportParams } from "./import-job.ts";

/** A row's consent to one channel. */
export interface Choice {
  channel: Channel;
  given: boolean;
  /** ISO time, or null for the time of the import. */
  occurredAt: string | null;
}

/** The number of consents of the accepted rows that are not recorded, by reason. */
export interface Unrecorded {
  /** The import does not name the origin of the consents. */
  no_evidence: number;
  /** The row has no address for the channel. */
  no_address: number;
  /** The import names a column of dates, and the row has none. */
  no_date: number;
}

/** The cells of a row, read. */
interface Cells {
  values: Record<string, string | null>;
  consents: ReadonlyMap<Channel, boolean>;
  occurredAt: string | null;
}

type Evidence = ImportParams["consent"];

/** A grant needs evidence with its date, and an address; a refusal needs neither. */
export function choicesOf(cells: Cells, evidence: Evidence): Choice[] {
  const { occurredAt } = cells;
  return [...wantedBy(cells, evidence)].flatMap(([channel, given]) =>
    given && barOf(cells, channel, evidence) !== null ? [] : [{ channel, given, occurredAt }],
  );
}

/** Whether the row refuses a channel. */
export function refuses({ choices }: { choices: readonly Choice[] }): boolean {
  return choices.some(({ given }) => !given);
}

/** Counts the granted consents of a row that the ledger will not record. */
export function countUnrecorded(
  unrecorded: Unrecorded,
  cells: Cells,
  { evidence, isRefused }: { evidence: Evidence; isRefused: boolean },
): void {
  for (const [channel, given] of wantedBy(cells, evidence)) {
    const bar = given ? barOf(cells, channel, evidence) : null;
    // A refused row is among the errors already.
    if (bar === null || (isRefused && bar !== "no_evidence")) continue;
    // The block grants its channels to players with an address alone.
    if (cells.consents.has(channel) || bar === "no_date") unrecorded[bar]++;
  }
}

/** The counts as warnings for the summary. */
export function warningsOf({ no_evidence, no_address, no_date }: Unrecorded): string[] {
  return [
    ...(no_evidence > 0
      ? [
          `${cellsSay(no_evidence)} yes to a channel, and none of it was recorded: the import has no consent block that says where the consents come from. Import the file again with one.`,
        ]
      : []),
    ...(no_address > 0
      ? [
          `${cellsSay(no_address)} yes to a channel for which the row has no address; none of it was recorded.`,
        ]
      : []),
    ...(no_date > 0
      ? [
          `A consent has no date ${no_date === 1 ? "once" : `${no_date} times`}, though occurred_at_column is given; none of it was recorded.`,
        ]
      : []),
  ];
}

function cellsSay(count: number): string {
  return counted(count, "cell says", "cells say");
}

/** Names the tiers of the file that the property does not have. */
export function tierWarnings(given: ReadonlyMap<string, number>, known: readonly string[]): string[] {
  const unknown = [...given].filter(([tier]) => !known.includes(tier));
  if (unknown.length === 0) return [];
  const shown = unknown.slice(0, 10).map(([tier, rows]) => `${tier} (${rows})`);
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : "";
  return [
    `The property does not have these tiers, with their rows: ${shown.join(", ")}${more}. They were imported as they are. Its tiers are: ${known.join(", ")}.`,
  ];
}

/** The row's own choices, and the grants of the consent block. */
function wantedBy({ consents }: Cells, evidence: Evidence): Map<Channel, boolean> {
  const granted = (evidence?.channel ?? []).map((channel): [Channel, boolean] => [channel, true]);
  return new Map([...granted, ...consents]);
}

/** The reason for not recording a grant. */
function barOf({ values, occurredAt }: Cells, channel: Channel, evidence: Evidence): keyof Unrecorded | null {
  if (!evidence) return "no_evidence";
  if (!hasAddress(values, channel)) return "no_address";
  return evidence.occurred_at_column !== undefined && occurredAt === null ? "no_date" : null;
}

function hasAddress(values: Cells["values"], channel: Channel): boolean {
  return (
    channel === "push" || (channel === "email" ? values.email !== undefined : values.phone !== undefined)
  );
}
