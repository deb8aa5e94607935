import { z } from "zod";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { CONSENT_LEVELS } from "#tools/consent/consent-records.table.ts";
import { hasEvidence } from "#tools/consent/evidence.ts";
import { isCountry } from "#tools/people/places.ts";

export const MATCH_KEYS = ["player_id", "email", "phone"] as const;
export type MatchKey = (typeof MATCH_KEYS)[number];

/** The parameters of an import beside its data. They are stored with the job. */
export const params = {
  mapping: z
    .record(z.string().max(500), z.string().max(100).nullable())
    .default({})
    .describe(
      'File column to player field, such as {"Email Addr": "email", "Fav Game": "custom.fav_game", "Opt In": "consent.email", "x": null}. Columns with a known name need no mapping; null leaves one out. The case of letters does not matter. In consent.<channel> yes or opted in grants (with the consent block alone; without it the summary counts what was not recorded), no or opted out refuses, an empty cell says nothing, and any other word is an error of the row. Without a header the columns are "1", "2", …',
    ),
  mode: z
    .enum(["upsert", "create_only", "update_only"])
    .default("upsert")
    .describe("Whether to create missing players, update existing ones, or both"),
  match_on: z
    .array(z.enum(MATCH_KEYS))
    .min(1)
    .max(3)
    .default([...MATCH_KEYS])
    .describe("The first of these fields with a value in the row identifies its player."),
  on_conflict: z
    .enum(["overwrite", "fill_blanks", "skip"])
    .default("overwrite")
    .describe("The fate of a player who exists. An empty cell never erases a value."),
  delimiter: z.enum(["auto", ",", ";", "\t", "|"]).default("auto").describe("The separator of cells"),
  has_header: z.boolean().default(true).describe("The first row names the columns"),
  encoding: z
    .enum(["auto", "utf-8", "utf-16le", "latin1", "windows-1252"])
    .default("auto")
    .describe("The encoding of the file's text"),
  decimal: z
    .enum(["auto", ".", ","])
    .default("auto")
    .describe(
      "The decimal sign. auto refuses a number with two readings, such as 1.234 in a file with semicolons",
    ),
  date_format: z
    .enum(["auto", "dmy", "mdy", "ymd"])
    .default("auto")
    .describe(
      "The order of day, month and year. auto reads 2026-01-31 and 31.01.2026, and refuses 03/04/2026",
    ),
  default_country: z
    .string()
    .refine(isCountry, "must be the ISO 3166 code of a country, such as US")
    .optional()
    .describe("For phones without a country code. Default: the property's."),
  segment_id: z.uuid().optional().describe("A static segment that the imported players join"),
  tags: z
    .array(z.string().trim().min(1).max(100))
    .max(20)
    .default([])
    .describe("Added to each imported player"),
  consent: z
    .strictObject({
      channel: z.array(z.enum(CHANNELS)).default([]),
      consentSource: z.string().trim().min(1).max(200),
      consentVersion: z.string().max(100).optional(),
      consentText: z.string().max(10_000).optional(),
      consentLevel: z.enum(CONSENT_LEVELS).optional(),
      occurred_at_column: z.string().max(500).optional(),
    })
    .refine(({ consentLevel, ...evidence }) => consentLevel !== "express_written" || hasEvidence(evidence), {
      path: ["consentText"],
      error: "a written consent is recorded with its wording: give consentText or consentVersion",
    })
    .optional()
    .describe(
      "Evidence of the opt-in. An import grants consent only with it. consentLevel is by default express; for voice with consentText or consentVersion express_written, which calls need. A refusal is lifted only by a later date of occurred_at_column with consentText or consentVersion, and by no agent's import; such rows are listed as refusal_stands. With occurred_at_column, only a yes with a date is recorded. A refusal needs no evidence: it is recorded in every mode and with every on_conflict, even from a row that is refused for another reason (but not from one with too many cells).",
    ),
  dry_run: z.boolean().default(false).describe("Checks and counts everything, and writes no player."),
};

export type ImportParams = z.output<z.ZodObject<typeof params>>;

export const ACTOR_TYPES = ["user", "api_key", "system"] as const;

/** The actor who requested an import. */
export interface Requester {
  actor_type: (typeof ACTOR_TYPES)[number];
  actor_id: string | null;
}

/** The columns of an import that its background job reads. */
export interface ImportJob extends Requester {
  id: string;
  upload_id: string;
  /** An agent's import lifts no refusal: nobody can be asked about each. */
  params: ImportParams & { by_agent?: boolean };
  processed: number;
}

/** The job that reads an upload into players. */
export const ImportPlayers = {
  name: "import_players",
  attempts: 20,
  input: z.object({ jobId: z.uuid() }),
} as const;
