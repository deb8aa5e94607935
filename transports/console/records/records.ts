import { html } from "hono/html";
import { Fault } from "#runtime/faults.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { listedColumns, readableOf } from "#runtime/operation/columns.ts";
import type { Table } from "#runtime/operation/table.ts";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { transcriptOf } from "#transports/console/transcript.ts";
import { shown, words } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { fieldName, fieldsOf } from "./fields.ts";
import { nextStep } from "./next-step.ts";

const PART = "/console/records";

/** The tables that can be listed, by the domains of the catalog. */
export async function tablesPage(desk: Desk, catalog: Catalog): Promise<Response> {
  const tables = listed(catalog);
  const content = html`<ul class="tables">${tables.map(({ name, description }) => html`<li><a href="${PART}/${name}">${words(name)}</a><p class="soft">${inEnglish(description.split(". ")[0]!)}</p></li>`)}</ul>`;
  return consolePage(desk, { part: PART, heading: say().records.records, content });
}

/** The rows of one table, newest first, by one filter. */
export async function tablePage(desk: Desk, catalog: Catalog): Promise<Response> {
  const { c, property } = desk;
  const table = tableNamed(catalog, c.req.param("table"));
  const { column = "", operator = "eq", value = "", status = "", cursor = "" } = c.req.query();
  const { rows, next } = await desk.list(table.name, {
    filters: {
      ...(column !== "" && value !== "" && { [`${column}.${operator}`]: value }),
      ...(status !== "" && { "status.eq": status }),
    },
    limit: 50,
    cursor,
  });
  const columns = listedColumns(table).filter((name) => name !== "id");
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="${PART}/${table.name}/${row.id}" aria-label="${say().records.openRecord(String(row.id))}">${say().general.open}</a></th>${columns.map((name) => html`<td>${shown(row[name], property.timezone, name)}</td>`)}</tr>`,
  );
  const isFiltered = value !== "" || status !== "";
  const empty = isFiltered
    ? html`<p>${say().records.nothingHereFitsFilter} <a href="${PART}/${table.name}">${say().records.seeAllRows}</a></p>`
    : nextStep(desk, catalog, table);
  const content = html`<p class="soft">${inEnglish(table.description)}</p>${filterForm(table, { column, operator, value })}${status === "" ? "" : html`<p>${say().records.onlyWithStatus(status)}</p>`}${tableOf(words(table.name), [say().general.record, ...columns.map(fieldName)], lines, empty)}${onward(c, next)}`;
  const above = { path: PART, name: say().records.records };
  return consolePage(desk, { part: PART, above, heading: words(table.name), content });
}

/** One record with all its fields. */
export async function recordPage(desk: Desk, catalog: Catalog): Promise<Response> {
  const table = tableNamed(catalog, desk.c.req.param("table"));
  const row = await desk.run(`get_${table.noun}`, { id: desk.c.req.param("id") });
  const above = { path: `${PART}/${table.name}`, name: words(table.name) };
  const { transcript, ...fields } = row;
  const content = Array.isArray(transcript)
    ? html`<h2>${say().general.transcript}</h2>${transcriptOf(transcript)}<h2>${say().general.record}</h2>${fieldsOf(fields, desk.property.timezone)}`
    : fieldsOf(row, desk.property.timezone);
  return consolePage(desk, { part: PART, above, heading: String(row.name ?? words(table.noun)), content });
}

function listed(catalog: Catalog): Table[] {
  return [...catalog.tables.values()]
    .filter(
      ({ name, noun }) => catalog.operations.has(`list_${name}`) && catalog.operations.has(`get_${noun}`),
    )
    .sort((one, other) => one.name.localeCompare(other.name));
}

function tableNamed(catalog: Catalog, name: string | undefined): Table {
  const table = listed(catalog).find((one) => one.name === name);
  if (!table) throw new Fault("not_found", { message: `There is no table ${name}.` });
  return table;
}

interface Filter {
  column: string;
  operator: string;
  value: string;
}

function filterForm(table: Table, filter: Filter): Html {
  const choice = (value: string, text: string, chosen: string) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ""}>${text}</option>`;
  const columns = Object.keys(readableOf(table).columns);
  return html`<form class="search" method="get" role="search"><label for="column">${say().general.column}</label><select id="column" name="column">${columns.map((name) => choice(name, words(name), filter.column))}</select><label for="operator" class="unseen">${say().records.comparison}</label><select id="operator" name="operator">${Object.entries(say().records.operators).map(([name, text]) => choice(name, text, filter.operator))}</select><label for="value" class="unseen">${say().records.value}</label><input id="value" name="value" maxlength="320" value="${filter.value}"><button class="small">${say().records.filter}</button></form>`;
}
