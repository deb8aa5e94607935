import { html } from "hono/html";
import type { Group } from "#tools/segments/rules/compile.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { consolePage, tableOf } from "./frame.ts";
import { onward } from "./paging.ts";
import { chip, shown, words } from "./values.ts";

const PART = "/console/segments";

interface Preview {
  count: number;
  sample: Row[];
  warnings?: string[];
}

/** All segments, by name. */
export async function segmentsPage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const { rows, next } = await desk.list("segments", {
    order: "name.asc,id.asc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.type))}</td><td class="number">${shown(row.member_count, property.timezone)}</td><td>${shown(row.last_computed_at, property.timezone)}</td><td>${chip(String(row.state))}</td></tr>`,
  );
  const empty = html`<p>There is no segment. <a href="/docs/segments">The guide to segments</a> makes the first one.</p>`;
  const content = html`${tableOf("Segments", ["Segment", "Type", "Players", "Counted", "State"], lines, empty)}${onward(c, next)}`;
  return consolePage(desk, { part: PART, heading: "Segments", content });
}

/** One segment: its rules in words, the count of now, and ten of its players. */
export async function segmentPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const [segment, preview] = await Promise.all([
    desk.run("get_segment", { id }),
    desk.run<Preview>("segment_preview", { segmentId: id }),
  ]);
  const rows = preview.sample.map(
    (row) =>
      html`<tr><th scope="row"><a href="/console/players/${row.id}">${row.player_id ?? row.id}</a></th><td>${[row.first_name, row.last_name].filter(Boolean).join(" ")}</td><td>${shown(row.tier, "")}</td><td class="number">${shown(row.adt, "")}</td><td>${chip(String(row.status))}</td></tr>`,
  );
  const warnings = (preview.warnings ?? []).map((text) => html`<p class="wrong">${text}</p>`);
  const content = html`${segment.description ? html`<p>${segment.description}</p>` : ""}<h2>Rules</h2>${segment.type === "static" ? html`<p>A fixed list of players.</p>` : rulesOf(segment as unknown as Group)}<h2>Players</h2><p><b>${preview.count.toLocaleString("en-US")}</b> match now. Consents and suppressions are not counted in: the check of a campaign tells who can be reached.</p>${warnings}${tableOf("Ten of them", ["Player", "Name", "Tier", "ADT", "Status"], rows, html`<p>Nobody matches.</p>`)}`;
  return consolePage(desk, { part: PART, heading: String(segment.name), content });
}

/** Operators whose names are short for something. The others read as they are. */
const OPERATOR_WORDS: Readonly<Record<string, string>> = {
  eq: "is",
  neq: "is not",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  in: "is one of",
  not_in: "is none of",
};

/** The rules in words, groups within groups. */
function rulesOf({ logic, conditions, groups = [] }: Group): Html {
  const parts = [
    ...conditions.map(
      ({ field, operator, value }) =>
        html`<li><b>${words(field)}</b> ${OPERATOR_WORDS[operator] ?? operator.replaceAll("_", " ")} ${valueWords(value)}</li>`,
    ),
    ...groups.map((group) => html`<li>${rulesOf(group)}</li>`),
  ];
  if (parts.length === 0) return html`<p>Every player.</p>`;
  return html`<p>${logic === "or" ? "Any" : "All"} of these:</p><ul>${parts}</ul>`;
}

function valueWords(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
