import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip, timeOf, words } from "#transports/console/values.ts";
import { numbers, tableOf, tiles } from "#transports/console/views/parts.js";
import { count, counted, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";

interface Summary {
  warnings?: string[];
  ignored_columns?: string[];
}

interface ErrorGroup {
  column: string | null;
  code: string;
  count: number;
  message: string;
  first_rows: number[];
  examples: string[];
}

/** One import: how far it is, what came of it, and the rows that were refused. */
export async function importPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const job = await desk.run("get_import_job", { id });
  const isOver = job.status === "completed" || job.status === "failed";
  const errors =
    Number(job.failed) > 0 ? await desk.run<ErrorGroup[]>("list_import_errors", { id, group: true }) : [];
  const { timezone } = desk.property;
  const content = html`<div class="live" id="live"${isOver ? "" : html` data-live="/console/live?job=${id}"`}>${stateOf(job)}${figuresOf(job)}${isOver ? next(desk, job) : ""}${warnings(job)}${refused(id, errors)}</div>${isOver ? "" : html`<p class="soft">${say().imports.startedAt(timeOf(String(job.created_at), timezone))}</p>`}`;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().imports.imports },
    heading: isDryRun(job) ? say().imports.dryRun : say().imports.import,
    states: html`<span id="pulse">${say().general.live}</span>`,
    content,
  });
}

/** Imports the file of a dry run, as it was tried. The page of one whose file is gone says so. */
export async function importFile(desk: Desk): Promise<Response> {
  const dry = await desk.run("get_import_job", { id: desk.c.req.param("id") });
  if (dry.upload_id === null) return redirect(`${PART}/${dry.id}`);
  const job = await desk.once("create_import_job", { upload_id: dry.upload_id, dry_run: false });
  return redirect(`${PART}/${job.id}`);
}

/** The refused rows as a file. */
export function errorsFile(desk: Desk): Promise<Response> {
  return desk.file("export_import_errors", { id: desk.c.req.param("id") });
}

function isDryRun({ params }: Row): boolean {
  return (params as { dry_run?: boolean } | null)?.dry_run === true;
}

function stateOf(job: Row): Html {
  const { status, error, total, processed } = job;
  const share = Number(total) > 0 ? Math.round((100 * Number(processed)) / Number(total)) : 0;
  const bar = html`<svg class="bar-of" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="${say().imports.shareRead(share)}"><rect width="${share}" height="10"/></svg>`;
  if (status === "failed")
    return html`<div class="wrong" role="alert"><p>${say().imports.fileUnreadable(inEnglish(String(error)))}</p></div>`;
  if (status === "completed") return html`<p>${chip("completed")}</p>`;
  return html`<p>${chip(String(status))} ${share} %</p>${bar}`;
}

function figuresOf(job: Row): Html {
  const number = (value: unknown) => count(Number(value ?? 0));
  const { rows, created, would } = say().imports;
  const said = isDryRun(job) ? would : created;
  return tiles([
    { name: rows, value: number(job.total) },
    { name: said.created, value: number(job.created_count) },
    { name: said.updated, value: number(job.updated_count) },
    { name: said.left, value: number(job.skipped) },
    { name: said.refused, value: number(job.failed) },
  ]);
}

function next(desk: Desk, job: Row): Html | "" {
  if (job.status === "failed")
    return html`<p class="acts last"><a class="button" href="${PART}/new">${say().imports.uploadTheFileAgain}</a></p>`;
  if (!isDryRun(job)) {
    return html`<div class="acts last"><a class="button" href="/console/records/players?column=import_job_id&amp;operator=eq&amp;value=${job.id}">${say().imports.seeThesePlayers}</a><a class="button quiet" href="/console/segments/new">${say().general.buildASegment}</a></div>`;
  }
  if (job.upload_id === null) return html`<p class="soft">${say().imports.fileThisDryRunImported}</p>`;
  const take = desk.canWrite
    ? actButton(
        desk,
        `${PART}/${job.id}/import`,
        say().imports.importRows(counted(Number(job.succeeded), "row")),
        "",
      )
    : "";
  return html`<div class="acts last">${take}<a class="button quiet" href="${PART}/files/${job.upload_id}">${say().imports.changeTheMapping}</a></div>`;
}

function warnings({ summary }: Row): Html | "" {
  const { warnings: all = [] } = (summary ?? {}) as Summary;
  if (all.length === 0) return "";
  return html`<h2>${say().imports.toKnow}</h2><ul>${all.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul>`;
}

function refused(id: string, groups: readonly ErrorGroup[]): Html | "" {
  if (groups.length === 0) return "";
  const rows = groups.map(
    ({ column, code, count: value, message, first_rows, examples }) =>
      html`<tr><th scope="row">${column ?? say().imports.theRow}</th><td>${words(code)}<p class="soft">${inEnglish(message)}</p></td><td class="number">${count(value)}</td><td>${first_rows.join(", ")}</td><td>${examples.join(", ")}</td></tr>`,
  );
  const head = [
    say().general.column,
    say().general.reason,
    numbers(say().imports.rows),
    say().imports.suchAsRow,
    say().imports.values,
  ];
  return html`<h2>${say().imports.refusedRows}</h2>${tableOf(say().imports.refusedRows, head, rows, html``)}<p><a href="${PART}/${id}/errors">${say().imports.downloadRefusedRowsWithReasons}</a></p>`;
}
