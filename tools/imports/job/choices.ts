import { counted } from "#runtime/counted.ts";
import { bareOrQuoted, quoted } from "#runtime/visible-text.ts";
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
  /** The player has no address for the channel, or another one than the row. */
  no_address: number;
  /** The import names a column of dates, and the row has none. */
  no_date: number;
  /** The import leaves the row's player alone, by its mode or on_conflict. */
  row_skipped: number;
}

/** The number of refusals in rows without effect on anybody, by reason. */
export interface LostRefusals {
  /** The row says nothing to know its player by. */
  no_identifier: number;
  /** The row means no player, and has no address of the channel to bar. */
  no_address: number;
  /** The row has more cells than the header, so its refusal may stand under a wrong column. */
  too_many_cells: number;
}

/** The counts of an import that the database makes, batch by batch. */
export interface Tally {
  no_address: number;
  row_skipped: number;
  /** The `no_address` of `LostRefusals`. */
  unbarred: number;
  /** New players with an address that another player has already. */
  taken: number;
}

/** The cells of a row, read. */
interface Cells {
  consents: ReadonlyMap<Channel, boolean>;
  occurredAt: string | null;
}

type Evidence = ImportParams["consent"];

/** A grant needs evidence with its date; a refusal needs none. */
export function choicesOf(cells: Cells, evidence: Evidence): Choice[] {
  const { occurredAt } = cells;
  return [...wantedBy(cells, evidence)].flatMap(([channel, given]) =>
    given && barOf(cells, evidence) !== null ? [] : [{ channel, given, occurredAt }],
  );
}

/** Whether the row refuses a channel. */
export function refuses({ choices }: { choices: readonly Choice[] }): boolean {
  return choices.some(({ given }) => !given);
}

/** Counts the granted consents of a row that lack evidence or its date. */
export function countUnrecorded(
  unrecorded: Pick<Unrecorded, "no_evidence" | "no_date">,
  cells: Cells,
  { evidence, isRefused }: { evidence: Evidence; isRefused: boolean },
): void {
  const bar = barOf(cells, evidence);
  // A refused row is among the errors already.
  if (bar === null || (isRefused && bar !== "no_evidence")) return;
  unrecorded[bar] += [...wantedBy(cells, evidence).values()].filter((given) => given).length;
}

/** The number of channels that the row refuses. */
export function refusedBy({ consents }: Pick<Cells, "consents">): number {
  return [...consents.values()].filter((given) => !given).length;
}

/** The refusals without effect, and the players whose address was taken, as warnings for the summary. */
export function peopleWarnings({ no_identifier, no_address, too_many_cells }: LostRefusals, taken: number) {
  const lost = (count: number, why: string) =>
    count > 0
      ? [
          `${counted(count, "cell says", "cells say")} no to a channel, and ${count === 1 ? "it was" : "they were"} not recorded: ${why}. See list_import_errors, and record ${count === 1 ? "it" : "each"} with consent_record or create_suppression.`,
        ]
      : [];
  return [
    ...lost(no_identifier, "the row has no player_id, email or phone that can be read"),
    ...lost(no_address, "the row means no player, and has no address of the channel"),
    ...lost(too_many_cells, "the row has more cells than the header, and they may stand under wrong columns"),
    ...(taken > 0
      ? [
          `${counted(taken, "new player has", "new players have")} an email or phone that another player has already. find_duplicate_players lists players who may be one person.`,
        ]
      : []),
  ];
}

/** The counts as warnings for the summary. */
export function warningsOf({ no_evidence, no_address, no_date, row_skipped }: Unrecorded): string[] {
  return [
    ...(no_evidence > 0
      ? [
          `${counted(no_evidence, "cell says", "cells say")} yes to a channel, and none of it was recorded: the import has no consent block that says where the consents come from. Import the file again with one.`,
        ]
      : []),
    ...(no_address > 0
      ? [
          `${counted(no_address, "consent is", "consents are")} to a channel for which the player has no address, or another one than the row; none of it was recorded.`,
        ]
      : []),
    ...(no_date > 0
      ? [
          `A consent has no date ${no_date === 1 ? "once" : `${no_date} times`}, though occurred_at_column is given; none of it was recorded.`,
        ]
      : []),
    ...(row_skipped > 0
      ? [
          `${counted(row_skipped, "consent stands", "consents stand")} in rows that were skipped by mode or on_conflict; none of it was recorded.`,
        ]
      : []),
  ];
}

/** Names the tiers of the file that the property does not have. */
export function tierWarnings(given: ReadonlyMap<string, number>, known: readonly string[]): string[] {
  const unknown = [...given].filter(([tier]) => !known.includes(tier));
  if (unknown.length === 0) return [];
  const shown = unknown.slice(0, 10).map(([tier, rows]) => `${quoted(tier)} (${rows})`);
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : "";
  return [
    `The property does not have these tiers, with their rows: ${shown.join(", ")}${more}. They were imported as they are. Its tiers are: ${known.map(bareOrQuoted).join(", ")}.`,
  ];
}

/** The row's own choices, and the grants of the consent block. */
function wantedBy({ consents }: Cells, evidence: Evidence): Map<Channel, boolean> {
  const granted = (evidence?.channel ?? []).map((channel): [Channel, boolean] => [channel, true]);
  return new Map([...granted, ...consents]);
}

/** The reason for not recording the grants of a row. */
function barOf({ occurredAt }: Cells, evidence: Evidence): "no_evidence" | "no_date" | null {
  if (!evidence) return "no_evidence";
  return evidence.occurred_at_column !== undefined && occurredAt === null ? "no_date" : null;
}
