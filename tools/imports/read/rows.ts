import { randomUUIDv7 } from "node:crypto";
import { readCell } from "#db/stream/csv.ts";
import { counted } from "#runtime/counted.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import {
  type Choice,
  choicesOf,
  countUnrecorded,
  type LostRefusals,
  refusedBy,
  refuses,
  type Unrecorded,
} from "#tools/imports/job/choices.ts";
import { type ImportParams, MATCH_KEYS, type MatchKey } from "#tools/imports/job/import-job.ts";
import type { RowErrorView } from "#tools/imports/job/row-error.ts";
import { comparedForm, noPhone, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
import { readCustomCell, readCustoms } from "./custom-cells.ts";
import { FIELDS, moment, type Notation } from "./fields.ts";
import { hasher } from "./hasher.ts";
import type { Seen } from "./identity-set.ts";
import type { Layout, Target } from "./layout.ts";
import type { DecimalSign } from "./numbers.ts";
import { isState, placeFlaw } from "./place.ts";
import { readWord } from "./words.ts";

const MOST_CELL = 65_536;
const MOST_CUSTOM = 16_384;
const SHOWN = 200;

/** A row for the database. */
export interface Staged {
  row: number;
  /** The id of the player that the row may create. */
  id: string;
  matchOn: MatchKey;
  values: Record<string, string | null>;
  choices: Choice[];
  /** The reason for not writing the row: then only its refusals count. */
  flaws: Refusal[];
  cells: readonly string[];
}

export type Refusal = Omit<RowErrorView, "original_row"> & { cells: readonly string[] };

export interface RowRules {
  layout: Layout;
  params: ImportParams;
  property: Pick<Property, "pepper" | "default_country">;
  customs: CustomFields;
  seen: Seen;
  /** Counted up as rows are read. */
  unrecorded: Pick<Unrecorded, "no_evidence" | "no_date">;
  lost: Omit<LostRefusals, "no_address">;
  decimal: DecimalSign;
  /** Counted up as rows are read: the rows of each tier. */
  tiers: Map<string, number>;
  /** The database's time in milliseconds since 1970: nothing can have happened later. */
  now: number;
}

interface Draft {
  values: Record<string, string | null>;
  custom: Record<string, unknown>;
  consents: Map<Channel, boolean>;
  occurredAt: string | null;
}

/** Reads the records of one file: each becomes a row to write, or a row with its error. */
export function rowReader(reading: RowRules) {
  const { layout, params, property, customs, seen, unrecorded, lost, tiers } = reading;
  const { header } = layout;
  const file = { decimal: reading.decimal, dates: params.date_format, now: reading.now };
  const country = (params.default_country ?? property.default_country).toUpperCase();
  const hashOf = hasher(property.pepper);
  const readers = layout.targets.map(
    (target, index) => target && { column: header[index]!, read: readerOf(target, customs, file) },
  );

  return (cells: readonly string[], row: number): Staged | Refusal[] => {
    const draft: Draft = { values: {}, custom: {}, consents: new Map(), occurredAt: null };
    const refusals: Refusal[] = [];
    const refuse: Refuse = (code, column, message, value = null) =>
      void refusals.push({ row, column, code, message, value: value && shown(value), cells });
    const isLong = cells.slice(header.length).some((cell) => cell.trim() !== "");
    if (isLong) {
      refuse(
        "type_mismatch",
        null,
        `The row has ${counted(cells.length, "cell")}, the header ${header.length}.`,
      );
    }
    for (let index = 0; index < readers.length; index++) {
      const reader = readers[index];
      const cell = cells[index];
      if (!reader || cell === undefined || cell === "") continue;
      const flaw = cellFlaw(cell);
      const text = flaw ? "" : readCell(cell).trim();
      if (!flaw && text === "") continue;
      const wrong = flaw
        ? ({ code: "type_mismatch", message: flaw } as const)
        : reader.read(text, draft, country);
      if (wrong) refuse(wrong.code, reader.column, wrong.message, cell);
    }
    const misplaced = placeFlaw(draft.values, country);
    if (misplaced)
      refuse("type_mismatch", header[layout.targets.findIndex(isState)]!, misplaced, draft.values.state);
    countUnrecorded(unrecorded, draft, { evidence: params.consent, isRefused: refusals.length > 0 });
    const staged = complete(draft, params, row, cells);
    if (refusals.length === 0 && !staged) {
      refuse("missing_identifier", null, "The row has no player_id, email or phone to know the player by.");
    } else if (staged && refusals.length === 0 && isAcceptable(staged, seen, refuse)) {
      countTier(tiers, staged.values.tier);
      const { email = null, phone = null } = staged.values;
      staged.values.email_hash = email === null ? null : hashOf(email);
      staged.values.phone_hash = phone === null ? null : hashOf(phone);
      return staged;
    }
    // In a long row the cells may stand under the wrong columns.
    if (staged && !isLong) return refuses(staged) ? { ...staged, flaws: refusals } : refusals;
    lost[isLong ? "too_many_cells" : "no_identifier"] += refusedBy(draft);
    return refusals;
  };
}

type Refuse = (code: Refusal["code"], column: string | null, message: string, value?: string | null) => void;

type Wrong = Pick<Refusal, "code" | "message"> | null;
type CellReader = (text: string, draft: Draft, country: string) => Wrong;

function readerOf(target: Target, customs: CustomFields, file: Notation): CellReader {
  switch (target.kind) {
    case "email":
      return readEmail;
    case "phone":
      return readPhone;
    case "field":
      return fieldReader(target.name, file);
    case "custom":
      return customReader(target.key, customs, file);
    case "customs":
      return customsReader(customs);
    case "consent":
      return consentReader(target.channel);
    case "occurred_at":
      return occurredReader(file);
  }
}

function readEmail(text: string, draft: Draft): Wrong {
  const email = quickEmail(text) ?? normalizeEmail(text);
  if (email === null) return { code: "invalid_email", message: "This is not an email address." };
  draft.values.email = email;
  return null;
}

const PLAIN_EMAIL = /^[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24}$/;

/** The usual form of an address, without the work for other alphabets. Null: call `normalizeEmail`. */
export function quickEmail(text: string): string | null {
  const plain = text.toLowerCase();
  // "--" may be Punycode. An address this short cannot exceed a limit of length.
  return plain.length <= 60 && PLAIN_EMAIL.test(plain) && !plain.includes("--") ? plain : null;
}

function readPhone(text: string, draft: Draft, country: string): Wrong {
  const phone = normalizePhone(text, country);
  if (phone !== null) {
    draft.values.phone = phone;
    return null;
  }
  return { code: "invalid_phone", message: `This ${noPhone(country)}.` };
}

function fieldReader(name: string, file: Notation): CellReader {
  const field = FIELDS[name]!;
  return (text, draft) => {
    const value = field.read(text, file);
    if (value === null) return { code: "type_mismatch", message: `${name} must be ${field.wants}.` };
    if (typeof value !== "string") return { code: "type_mismatch", message: `${name} ${value.unsure}.` };
    draft.values[name] = value;
    return null;
  };
}

function customReader(key: string, customs: CustomFields, file: Notation): CellReader {
  return (text, draft) => {
    const read = readCustomCell(customs, key, text, file);
    if ("wrong" in read) return { code: "type_mismatch", message: `custom.${key} ${read.wrong}.` };
    draft.custom[key] = read.value;
    return null;
  };
}

function customsReader(customs: CustomFields): CellReader {
  return (text, draft) => {
    // Escapes could add characters that the text itself does not show.
    if (/\\u(0000|d[89a-f])/i.test(text) || text.includes("__proto__")) {
      return { code: "type_mismatch", message: "custom contains characters that cannot be stored." };
    }
    const read = readCustoms(customs, text);
    if ("wrong" in read) {
      return { code: read.unknown ? "unknown_field" : "type_mismatch", message: `custom${read.wrong}.` };
    }
    draft.custom = { ...read.values, ...draft.custom };
    return null;
  };
}

const OPTED: Readonly<Record<string, boolean>> = {
  "opted in": true,
  "opt-in": true,
  "opted out": false,
  "opt-out": false,
};

function consentReader(channel: Channel): CellReader {
  return (text, draft) => {
    const given = OPTED[text.toLowerCase()] ?? readWord(text);
    if (given === null) {
      const message = `consent.${channel} must be yes or no, such as opted in, ja, non or sí.`;
      return { code: "type_mismatch", message };
    }
    draft.consents.set(channel, given);
    return null;
  };
}

function occurredReader(file: Notation): CellReader {
  return (text, draft) => {
    const time = moment.read(text, file);
    if (time !== null && typeof time !== "string")
      return { code: "type_mismatch", message: `The time of consent ${time.unsure}.` };
    if (time === null || Date.parse(time) > file.now) {
      return {
        code: "type_mismatch",
        message: `The time of consent must be ${moment.wants}, not in the future.`,
      };
    }
    draft.occurredAt = time;
    return null;
  };
}

function complete(draft: Draft, params: ImportParams, row: number, cells: readonly string[]): Staged | null {
  const { values } = draft;
  const matchOn = [...params.match_on, ...MATCH_KEYS].find((key) => values[key] !== undefined);
  if (matchOn === undefined) return null;
  const custom = Object.keys(draft.custom).length > 0 ? JSON.stringify(draft.custom) : null;
  if (custom !== null) values.custom = custom;
  const choices = choicesOf(draft, params.consent);
  return { row, id: randomUUIDv7(), matchOn, values, choices, flaws: [], cells };
}

function isAcceptable(staged: Staged, seen: Seen, refuse: Refuse): boolean {
  const { values, matchOn } = staged;
  if ((values.custom?.length ?? 0) > MOST_CUSTOM) {
    const message = `The custom fields are longer than ${MOST_CUSTOM} characters together.`;
    refuse("type_mismatch", null, message);
    return false;
  }
  if (isFirst(staged, seen)) return true;
  const message = "An earlier row of the file is about the same player.";
  refuse("duplicate_in_file", matchOn, message, values[matchOn]);
  return false;
}

/** A player_id belongs to one person, in every match mode. */
function isFirst({ matchOn, values }: Staged, seen: Seen): boolean {
  const value = values[matchOn]!;
  const isNew = seen.add(`${matchOn}:${matchOn === "phone" ? comparedForm(value) : value}`);
  if (!isNew || matchOn === "player_id" || values.player_id === undefined) return isNew;
  return seen.add(`player_id:${values.player_id}`);
}

/** A column that is no tier has as many values as rows. */
const MOST_TIERS = 200;

function countTier(tiers: Map<string, number>, tier: string | null | undefined): void {
  if (tier && (tiers.has(tier) || tiers.size < MOST_TIERS)) tiers.set(tier, (tiers.get(tier) ?? 0) + 1);
}

function cellFlaw(cell: string): string | null {
  if (cell.length > MOST_CELL) return `The cell is longer than ${MOST_CELL} characters.`;
  return cell.includes("\0") ? "The cell holds a NUL character." : null;
}

function shown(value: string): string {
  return value.replaceAll("\0", "�").slice(0, SHOWN).toWellFormed();
}
