import { z } from "zod";
import type { Sql } from "#db/client.ts";
import { timestamp } from "#runtime/columns.ts";
import type { Context } from "#runtime/operation.ts";

export const CHANNELS = ["sms", "email", "voice", "push"] as const;
export type Channel = (typeof CHANNELS)[number];

export const MATCH_KEYS = ["player_id", "email", "phone"] as const;
export type MatchKey = (typeof MATCH_KEYS)[number];

/** What an import may be told, beside the data itself. Stored with the job. */
export const params = {
  mapping: z
    .record(z.string().max(500), z.string().max(100).nullable())
    .default({})
    .describe(
      'File column to player field, such as {"Email Addr": "email", "Fav Game": "custom.fav_game", "Opt In": "consent.email", "x": null}. Columns with a known name need no mapping; null leaves one out. Without a header the columns are "1", "2", …',
    ),
  mode: z
    .enum(["upsert", "create_only", "update_only"])
    .default("upsert")
    .describe("What to do with players who are there, and who are not"),
  match_on: z
    .array(z.enum(MATCH_KEYS))
    .min(1)
    .max(3)
    .default([...MATCH_KEYS])
    .describe("A row is matched by the first of these that it has a value for."),
  on_conflict: z
    .enum(["overwrite", "fill_blanks", "skip"])
    .default("overwrite")
    .describe("What happens to a player who exists. An empty cell never erases a value."),
  delimiter: z.enum(["auto", ",", ";", "\t", "|"]).default("auto").describe("What parts the cells"),
  has_header: z.boolean().default(true),
  encoding: z.enum(["auto", "utf-8", "utf-16le", "latin1", "windows-1252"]).default("auto"),
  default_country: z
    .string()
    .regex(/^[A-Za-z]{2}$/, "must be an ISO 3166 code, such as US")
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
      occurred_at_column: z.string().max(500).optional(),
    })
    .optional()
    .describe("Evidence of the opt-in. Without it an import turns no consent on."),
  dry_run: z.boolean().default(false).describe("Checks and counts everything, and writes no player."),
};

export type ImportParams = z.output<z.ZodObject<typeof params>>;

/** The specification's AsyncJob with what an import adds to it. */
export const ImportJobView = z.object({
  id: z.uuid(),
  property_id: z.uuid(),
  status: z.enum(["queued", "processing", "completed", "failed"]),
  type: z.literal("player_import"),
  total: z.int().nullable(),
  processed: z.int().nullable(),
  status_url: z.string(),
  errors_url: z.string(),
  succeeded: z.int(),
  failed: z.int(),
  skipped: z.int(),
  created_count: z.int(),
  updated_count: z.int(),
  error: z.string().nullable(),
  summary: z.record(z.string(), z.unknown()).nullable(),
  params: z.record(z.string(), z.unknown()),
  started_at: timestamp().nullable(),
  completed_at: timestamp().nullable(),
  expires_at: timestamp().nullable(),
  created_at: timestamp(),
  updated_at: timestamp(),
});
export type ImportJobView = z.output<typeof ImportJobView>;

const NAMES = Object.keys(ImportJobView.shape);

/** The columns of an import job, in the order of their output. */
export function jobColumns(sql: Sql) {
  return sql`${sql(NAMES)}`;
}

/** Who asked for an import. */
export interface Requester {
  actor_type: "user" | "api_key" | "system";
  actor_id: string | null;
}

/** What the background job knows of an import. */
export interface ImportJob extends Requester {
  id: string;
  upload_id: string;
  params: ImportParams;
  processed: number;
}

/** The job that reads an upload into players. */
export const ImportPlayers = {
  name: "import_players",
  attempts: 20,
  input: z.object({ jobId: z.uuid() }),
} as const;

/** An import ends as failed: its upload goes, its endpoints hear of it. False when it had ended before. */
export async function failImport(context: Context, jobId: string, error: string): Promise<boolean> {
  const { sql, property } = context;
  const [row] = await sql<{ upload_id: string | null; job: ImportJobView }[]>`
    with j as (
      update import_jobs set status = 'failed', error = ${error}, completed_at = now(), updated_at = now()
      where property_id = ${property.id} and id = ${jobId} and status in ('queued', 'processing')
      returning *)
    select upload_id, row_to_json(v) as job from j, lateral (select ${jobColumns(sql)}) v`;
  if (!row) return false;
  await dropUpload(sql, property.id, row.upload_id);
  context.emit("job.failed", eventOf(row.job));
  return true;
}

export async function dropUpload(sql: Sql, propertyId: string, uploadId: string | null): Promise<void> {
  await sql`delete from uploads where property_id = ${propertyId} and id = ${uploadId}`;
}

/** What an event tells of a job: no data of the file. */
export function eventOf(job: ImportJobView): object {
  const { params: _, summary: __, ...rest } = job;
  return rest;
}
