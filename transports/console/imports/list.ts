import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, firstStep } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { chip, shown, timeOf } from "#transports/console/values.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/imports";

/** All imports, newest first. */
export async function importsPage(desk: Desk): Promise<Response> {
  const { c, property, canWrite } = desk;
  const { rows, next } = await desk.list("import_jobs", {
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const empty = html`<p>${say().imports.noFileWasImportedYet}</p>${firstStep(desk, `${PART}/new`, say().imports.importAFile)}`;
  const table = importsTable(rows, property.timezone, empty);
  return consolePage(desk, {
    part: PART,
    heading: say().imports.imports,
    actions: canWrite ? html`<a class="button" href="${PART}/new">${say().imports.importAFile}</a>` : "",
    content: html`<div class="live" id="live" data-live="/console/live?list=import_jobs">${table}${onward(c, next)}</div>`,
  });
}

/** Imports as rows of a table. */
export function importsTable(rows: readonly Row[], timezone: string, empty: Html): Html {
  const lines = rows.map((row) => {
    const isDry = (row.params as { dry_run?: boolean } | null)?.dry_run === true;
    return html`<tr><th scope="row"><a href="${PART}/${row.id}">${isDry ? say().imports.dryRun : say().imports.import}, ${timeOf(String(row.created_at), timezone)}</a></th><td>${chip(String(row.status))}</td><td class="number">${shown(row.total, timezone)}</td><td class="number">${shown(row.succeeded, timezone)}</td><td class="number">${shown(row.failed, timezone)}</td></tr>`;
  });
  return tableOf(
    say().imports.imports,
    [
      say().imports.import,
      say().general.status,
      numbers(say().imports.rows),
      numbers(say().imports.taken),
      numbers(say().imports.refused),
    ],
    lines,
    empty,
  );
}
