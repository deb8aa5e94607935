import { bars, count, figures, sorted, table, text } from "./parts.js";

const STATES = ["inside", "completed", "exited", "failed"];

/** The answer of journey_report. */
export function render(report) {
  const { figures: all, nodes } = report;
  const rows = nodes.map(({ node, type, entered, left, here }) => [
    `${text(node)} <span class="soft">${text(type)}</span>`,
    count(entered),
    count(left),
    count(here),
  ]);
  const states = STATES.map((state) => [state, all[state]]);
  const totals = [
    ["entered", count(all.entered)],
    ["people", count(all.people)],
    ["goal_reached", count(all.goal_reached)],
    ["overdue", count(report.overdue)],
  ];
  return `<h1>${count(all.entered)} entries in version ${text(report.version)}</h1>${figures(totals)}${bars("Where they stand", states, all.entered)}${bars("Why they left", sorted(all.reasons), all.entered)}${table("Nodes", ["Node", "In", "Out", "Here"], rows)}`;
}
