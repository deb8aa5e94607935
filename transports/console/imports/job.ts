import { html } from "hono/html";
import { tiles } from "#transports/console/bars.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton } from "#transports/console/fields.ts";
import { consolePage, numbers, tableOf } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { chip, count, counted, timeOf, words } from "#transports/console/values.ts";
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
  const content = html`<div class="live" id="live"${isOver ? "" : html` data-live="/console/live?job=${id}"`}>${stateOf(job)}${figuresOf(job)}${isOver ? next(desk, job) : ""}${warnings(job)}${refused(id, errors)}</div>${isOver ? "" : html`<p class="soft">Started ${timeOf(String(job.created_at), timezone)}. This page shows it by itself.</p>`}`;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: "Imports" },
    heading: isDryRun(job) ? "Dry run" : "Import",
    states: html`<span id="pulse">live</span>`,
    content,
  });
}

/** Imports the file of a dry run, as it was tried. */
export async function importFile(desk: Desk): Promise<Response> {
  const dry = await desk.run("get_import_job", { id: desk.c.req.param("id") });
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
  const bar = html`<svg class="bar-of" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="${share} % read"><rect width="${share}" height="10"/></svg>`;
  if (status === "failed")
    return html`<div class="wrong" role="alert"><p>The file could not be read: ${error}</p></div>`;
  if (status === "completed") return html`<p>${chip("completed")}</p>`;
  return html`<p>${chip(String(status))} ${share} %</p>${bar}`;
}

function figuresOf(job: Row): Html {
  const number = (value: unknown) => count(Number(value ?? 0));
  const verb = isDryRun(job) ? "Would be " : "";
  return tiles([
    { name: "Rows", value: number(job.total) },
    { name: words(`${verb}created`), value: number(job.created_count) },
    { name: words(`${verb}updated`), value: number(job.updated_count) },
    { name: words(`${verb}left as they are`), value: number(job.skipped) },
    { name: words(`${verb}refused`), value: number(job.failed) },
  ]);
}

function next(desk: Desk, job: Row): Html | "" {
  if (job.status === "failed")
    return html`<p class="acts last"><a class="button" href="${PART}/new">Upload the file again</a></p>`;
  if (!isDryRun(job)) {
    return html`<div class="acts last"><a class="button" href="/console/records/players?column=import_job_id&amp;operator=eq&amp;value=${job.id}">See these players</a><a class="button quiet" href="/console/segments/new">Build a segment</a></div>`;
  }
  if (job.upload_id === null)
    return html`<p class="soft">The file of this dry run is imported, or was swept away.</p>`;
  const take = desk.canWrite
    ? actButton(desk, `${PART}/${job.id}/import`, `Import ${counted(Number(job.succeeded), "row")}`, "")
    : "";
  return html`<div class="acts last">${take}<a class="button quiet" href="${PART}/files/${job.upload_id}">Change the mapping</a></div>`;
}

function warnings({ summary }: Row): Html | "" {
  const { warnings: all = [] } = (summary ?? {}) as Summary;
  if (all.length === 0) return "";
  return html`<h2>To know</h2><ul>${all.map((text) => html`<li>${text}</li>`)}</ul>`;
}

function refused(id: string, groups: readonly ErrorGroup[]): Html | "" {
  if (groups.length === 0) return "";
  const rows = groups.map(
    ({ column, code, count: value, message, first_rows, examples }) =>
      html`<tr><th scope="row">${column ?? "the row"}</th><td>${words(code)}<p class="soft">${message}</p></td><td class="number">${count(value)}</td><td>${first_rows.join(", ")}</td><td>${examples.join(", ")}</td></tr>`,
  );
  const head = ["Column", "Reason", numbers("Rows"), "Such as row", "Values"];
  return html`<h2>Refused rows</h2>${tableOf("Refused rows", head, rows, html``)}<p><a href="${PART}/${id}/errors">Download the refused rows, with the reasons</a></p>`;
}
