import { randomUUIDv7 } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { csvLine, safeCell } from "#db/stream/csv.ts";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import { viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { insert } from "#runtime/operation/rows.ts";
import type { Row } from "#runtime/operation/table.ts";
import { askAboutLists } from "#tools/approvals/lists.ts";
import { waitingCampaigns } from "#tools/campaigns/approval/watch-audiences.ts";
import { customFields } from "#tools/custom-fields/values.ts";
import { askBeforeImport } from "#tools/enrollments/ask.ts";
import { statusUrl } from "#tools/jobs/async-job.ts";
import { contactIn, SHOWN_TEXTS } from "#tools/people/shown-texts.ts";
import { BY_CONSENT, mailGround } from "#tools/people/words.ts";
import importJobs from "./import-jobs.table.ts";
import { type ImportParams, ImportPlayers, params } from "./job/import-job.ts";
import { countOverwritten, type Overwritten, writtenRows } from "./overwritten.ts";
import { checkParams } from "./read/layout.ts";
import type { Staged } from "./read/rows.ts";
import { storeFile } from "./upload.ts";

const MOST_COLUMNS = 500;
/** The most characters of a text in a question. */
const MOST_SHOWN = 100;
/** The form of the file that rows are written into. */
const AS_WRITTEN = { delimiter: ",", has_header: true, encoding: "utf-8" } as const;

export default tool({
  name: "create_import_job",
  title: "Import players",
  description:
    "Uploads players: starts an import from CSV text or from rows, and answers at once; poll get_import_job until status is completed or failed. A faulty row is refused whole and listed by list_import_errors; it never fails the job. Missing cells at the end of a row are empty; a row with too many cells is refused. Files over 1 MB are sent to POST /api/import_jobs as multipart/form-data (file, params) or text/csv, up to 200 MB and 1,000,000 rows.",
  scope: "write",
  effect: "change",
  asks: true,
  input: {
    type: z.literal("player_import").default("player_import").describe("The only supported kind"),
    csv: z.string().optional().describe("The file's text. Give exactly one of csv, rows and upload_id"),
    rows: z.array(z.record(z.string(), z.unknown())).optional().describe("Objects by column name"),
    upload_id: z
      .uuid()
      .optional()
      .describe(
        "The file of a dry run, from get_import_job. It is imported with the dry run's mapping, consent and other parameters, except those that this call gives",
      ),
    ...params,
  },
  output: viewOf(importJobs),
  status: 202,
  faults: ["invalid", "not_found", "conflict", "too_large"],
  crud: { table: importJobs, verb: "create" },
  upload: ["csv", "rows", "upload_id"],
  async handler(context, { type, csv, rows, upload_id, ...own }) {
    if ([csv, rows, upload_id].filter((one) => one !== undefined).length !== 1) {
      throw invalid("csv", "give exactly one of csv, rows and upload_id");
    }
    const given = upload_id ? await withDryRun(context, upload_id, own) : own;
    const asRows = rows !== undefined;
    const settings: ImportParams = asRows
      ? { ...given, ...AS_WRITTEN, ...(given.decimal === "auto" && { decimal: "." }) }
      : given;
    if (changesPlayers(settings)) {
      refuseMasked(
        context.call,
        "the messages to players would go to another address; on_conflict skip adds new players",
      );
    }
    const customs = await customFields(context);
    checkParams(settings, customs);
    await checkSegment(context, settings.segment_id);
    const uploadId = upload_id ?? randomUUIDv7();
    const file = upload_id ? null : Buffer.from(asRows ? csvOf(rows) : (csv ?? ""));
    if (context.call.transport === "mcp" && !settings.dry_run) {
      const written = file && (await writtenRows(context, file, settings, customs));
      if (changesPlayers(settings)) {
        await askAbout(context, settings, written && (await countOverwritten(context, written, settings)));
      }
      askAboutContacts(context, written);
    }
    if (!settings.dry_run) await askBeforeImport(context);
    if (settings.consent && !settings.dry_run) askAboutConsents(context, settings.consent);
    if (file) await storeFile(context.sql, context.property.id, uploadId, file);
    else await takeUpload(context, uploadId);
    if (settings.segment_id && !settings.dry_run) await askAboutLists(context, [settings.segment_id]);
    const byAgent = context.call.transport === "mcp" && { by_agent: true };
    const job = await insertJob(context, type, uploadId, { ...settings, ...byAgent });
    context.enqueue(ImportPlayers, { jobId: job.id });
    return job;
  },
});

function changesPlayers({ mode, on_conflict }: ImportParams): boolean {
  return mode !== "create_only" && on_conflict !== "skip";
}

/** Asks where players are changed; the file of a dry run may have been tried with other settings. */
async function askAbout(
  context: Context,
  { on_conflict }: ImportParams,
  found: Overwritten | null,
): Promise<void> {
  if (found?.players === 0) return;
  const names = (await waitingCampaigns(context)).map(({ name }) => JSON.stringify(name));
  const others = `The values may bring other players into what was approved and waits: ${names.join(", ")}.`;
  const whom = found ? counted(found.players, "player who is", "players who are") : "all its players who are";
  const act = on_conflict === "overwrite" ? "go over those of" : "fill what is blank of";
  const sentence = `The file's values ${act} ${whom} there already (on_conflict ${on_conflict}). It cannot be undone.`;
  context.ask?.({
    sentences: () => [
      sentence,
      ...(found === null ? [UNREAD] : weakeningWords(context.property, found)),
      ...(names.length > 0 ? [others] : []),
    ],
  });
}

const UNREAD =
  "They may lift bars on messages, such as vip_hold, an age or a listed address, and move the messages and quiet hours of those who have agreed.";

/** The protections that the file weakens, as `update_player` says it for one player. */
function weakeningWords(
  property: Property,
  { holds, ages, listed, mails, phones, places }: Overwritten,
): string[] {
  const about: [count: number, words: string][] = [
    [holds, "This lifts a bar. Players who leave vip_hold"],
    [ages, "This lifts a bar. Players who are old enough by another birth date"],
    [
      listed,
      "This lifts a bar. Players who let go of an address on a do-not-call list or among the suppressions",
    ],
    [mails, `Players whose mail goes to another address, ${mailGround(property)}`],
    [phones, `Players whose texts and calls go to another phone, ${BY_CONSENT}`],
    [places, "Players whose quiet hours go by another place"],
  ];
  return about.flatMap(([count, words]) => (count > 0 ? [`${words}: ${count}.`] : []));
}

/** Asks about web addresses and phone numbers in texts that messages show; a file that was uploaded before is not read here. */
function askAboutContacts({ ask }: Context, written: readonly Staged[] | null): void {
  if (written === null) {
    const sentence = `The names, tiers and fields of the file are not read before its import: messages show players what they say, web addresses and phone numbers too.`;
    ask?.({ sentences: () => [sentence] });
    return;
  }
  const shown = written.flatMap(({ values }) => {
    const found = [...SHOWN_TEXTS, "custom"].find((name) => contactIn(values[name] ?? null));
    return found === undefined ? [] : [{ name: found, text: values[found]! }];
  });
  const [first] = shown;
  if (!first) return;
  const sentence = `${counted(shown.length, "row of the file has", "rows of the file have")} ${contactIn(first.text)} in a text that messages show, such as ${first.name}: ${JSON.stringify(first.text.slice(0, MOST_SHOWN).toWellFormed())}.`;
  ask?.({ sentences: () => [sentence] });
}

/** An agent that invents evidence opens channels, so a person reads it first. */
function askAboutConsents(
  { call, ask }: Context,
  { consentSource, consentText, consentVersion }: NonNullable<ImportParams["consent"]>,
): void {
  if (call.transport !== "mcp") return;
  const wording = JSON.stringify(consentText ?? consentVersion ?? "no wording");
  const sentence = `The file's consents go into the ledger, as an agent's import. The evidence for all of them: agreed at ${JSON.stringify(consentSource)}, to ${wording}.`;
  ask?.({ sentences: () => [sentence] });
}

function insertJob(context: Context, type: string, uploadId: string, params: ImportParams): Promise<Row> {
  const id = randomUUIDv7();
  const url = statusUrl(context, importJobs, id);
  const { type: actor_type, id: actor_id } = context.call.actor;
  return insert(context, importJobs, {
    ...{ id, type, upload_id: uploadId, params, actor_type, actor_id },
    ...{ status_url: url, errors_url: `${url}/errors` },
  });
}

async function checkSegment({ sql, property }: Context, segmentId: string | undefined): Promise<void> {
  if (segmentId === undefined) return;
  const [segment] = await sql<{ type: string }[]>`
    select type from segments where property_id = ${property.id} and id = ${segmentId} and deleted_at is null`;
  if (!segment) throw new Fault("not_found", { message: "segment_id: no such segment. See list_segments." });
  if (segment.type !== "static")
    throw invalid("segment_id", "is a dynamic segment; only a static one takes members");
}

const DEFAULTS = z.object(params).parse({});

/** The parameters of the file's dry run, where the call leaves them at their defaults. */
async function withDryRun(
  { sql, property }: Context,
  uploadId: string,
  given: ImportParams,
): Promise<ImportParams> {
  const [dry] = await sql<{ params: ImportParams }[]>`
    select params from import_jobs
    where property_id = ${property.id} and upload_id = ${uploadId} and status = 'completed'`;
  if (!dry) return given;
  const changed = Object.entries(given).filter(
    ([name, value]) => !isDeepStrictEqual(value, DEFAULTS[name as keyof ImportParams]),
  );
  // The importer is this call's own.
  const { by_agent: _, ...kept } = dry.params as ImportParams & { by_agent?: boolean };
  return { ...kept, dry_run: given.dry_run, ...Object.fromEntries(changed) };
}

/** Uses the stored file of a dry run. */
async function takeUpload({ sql, property }: Context, uploadId: string): Promise<void> {
  const [upload] = await sql<{ complete: boolean }[]>`
    select complete from uploads where property_id = ${property.id} and id = ${uploadId} for update`;
  if (!upload?.complete)
    throw new Fault("not_found", {
      message: "upload_id: no such file, or its upload is not complete. Upload it again.",
    });
  await sql`
    update import_jobs set upload_id = null
    where property_id = ${property.id} and upload_id = ${uploadId} and status = 'completed'`;
  const used = await sql`
    select from import_jobs where property_id = ${property.id} and upload_id = ${uploadId}`;
  if (used.length > 0)
    throw new Fault("conflict", { message: "upload_id: the file belongs to another import." });
}

/** The rows as a file: columns in the order of their first appearance. */
function csvOf(rows: Record<string, unknown>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) throw invalid("rows", "hold no columns");
  if (columns.length > MOST_COLUMNS)
    throw invalid("rows", `have more than ${MOST_COLUMNS} different columns`);
  const lines = rows.map((row) => csvLine(columns.map((column) => cellOf(row[column]))));
  return [csvLine(columns), ...lines].join("");
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return JSON.stringify(value);
  return typeof value === "string" ? safeCell(value) : String(value);
}
