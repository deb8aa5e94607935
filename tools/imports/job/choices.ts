import type { Channel } from "#tools/compliance/channels.ts";
import type { ImportParams } from "./import-job.ts";

/** A row's consent to one channel. */
export interface Choice {
  channel: Channel;
  given: boolean;
  /** ISO time, or null for the time of the import. */
  occurredAt: string | null;
}

/** The number of consents of the rows that are not recorded, by reason. */
export interface Unrecorded {
  /** The import does not name the origin of the consents. */
  no_evidence: number;
  /** The row has no address for the channel. */
  no_address: number;
}

/** The cells of a row, read. */
interface Cells {
  values: Record<string, string | null>;
  consents: ReadonlyMap<Channel, boolean>;
  occurredAt: string | null;
}

type Evidence = ImportParams["consent"];

/** A grant needs evidence and an address; a refusal needs neither. */
export function choicesOf({ values, consents, occurredAt }: Cells, evidence: Evidence): Choice[] {
  const wanted = new Map<Channel, boolean>(evidence?.channel.map((channel) => [channel, true]));
  for (const [channel, given] of consents) wanted.set(channel, given);
  return [...wanted].flatMap(([channel, given]) =>
    !given || (evidence && hasAddress(values, channel)) ? [{ channel, given, occurredAt }] : [],
  );
}

/** Whether the row refuses a channel. */
export function refuses({ choices }: { choices: readonly Choice[] }): boolean {
  return choices.some(({ given }) => !given);
}

/** Counts the granted consents of a row that the ledger will not record. */
export function countUnrecorded(
  unrecorded: Unrecorded,
  { values, consents }: Cells,
  { evidence, isRefused }: { evidence: Evidence; isRefused: boolean },
): void {
  for (const [channel, given] of consents) {
    if (!given) continue;
    if (!evidence) unrecorded.no_evidence++;
    // A refused row is among the errors already.
    else if (!isRefused && !hasAddress(values, channel)) unrecorded.no_address++;
  }
}

/** The counts as warnings for the summary. */
export function warningsOf({ no_evidence, no_address }: Unrecorded): string[] {
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
  ];
}

function cellsSay(count: number): string {
  return count === 1 ? "1 cell says" : `${count} cells say`;
}

function hasAddress(values: Cells["values"], channel: Channel): boolean {
  return (
    channel === "push" || (channel === "email" ? values.email !== undefined : values.phone !== undefined)
  );
}
