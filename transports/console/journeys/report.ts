import { html } from "hono/html";
import { bars, tiles } from "#transports/console/bars.ts";
import type { Row } from "#transports/console/desk.ts";
import { numbers, tableOf } from "#transports/console/frame.ts";
import { count, counted, words } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";

export interface NodeRow {
  node: string;
  type: string;
  entered: number;
  left: number;
  here: number;
  campaign_id: string | null;
}

export interface Figures {
  entered: number;
  people: number;
  inside: number;
  completed: number;
  exited: number;
  failed: number;
  goal_reached: number;
  reasons: Record<string, number>;
}

export interface Report {
  version: number;
  overdue: number;
  figures: Figures;
  nodes: NodeRow[];
}

/** The figures of a published journey, of all its nodes, and why players left. */
export function reportOf({ id }: Row, { version, overdue, figures, nodes }: Report): Html {
  const late =
    overdue > 0
      ? html`<div class="wrong" role="alert"><p>${counted(overdue, "player is", "players are")} more than a minute late.</p></div>`
      : "";
  return html`${late}${figuresOf(figures)}<h2>Nodes of version ${version}</h2>${nodesTable(nodes, String(id))}${leavers(figures)}`;
}

export function figuresOf(figures: Figures): Html {
  const share = (value: number) =>
    figures.entered === 0 ? "" : `${((100 * value) / figures.entered).toFixed(1)} % of entries`;
  return tiles([
    { name: "Entered", value: count(figures.entered), note: counted(figures.people, "person", "people") },
    { name: "Inside now", value: count(figures.inside), note: share(figures.inside) },
    { name: "Reached the goal", value: count(figures.goal_reached), note: share(figures.goal_reached) },
    { name: "Completed", value: count(figures.completed), note: share(figures.completed) },
    { name: "Left before", value: count(figures.exited), note: share(figures.exited) },
    { name: "Failed", value: count(figures.failed), note: share(figures.failed) },
  ]);
}

/** The nodes with the players who came, went and stand there. With a journey's id they lead to those. */
export function nodesTable(nodes: readonly NodeRow[], journeyId: string | null): Html {
  const rows = nodes.map(({ node, type, entered, left, here, campaign_id }) => {
    const name = journeyId ? html`<a href="${PART}/${journeyId}/nodes/${node}">${node}</a>` : node;
    return html`<tr><th scope="row">${name}</th><td>${words(type)}</td><td class="number">${count(entered)}</td><td class="number">${count(left)}</td><td class="number">${count(here)}</td><td>${campaign_id ? html`<a href="/console/campaigns/${campaign_id}">Its messages</a>` : ""}</td></tr>`;
  });
  return tableOf(
    "Nodes",
    ["Node", "Kind", numbers("Came"), numbers("Went"), numbers("Here"), "Figures"],
    rows,
    html``,
  );
}

function leavers({ reasons }: Figures): Html | "" {
  const left = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  if (left.length === 0) return "";
  const all = left.reduce((total, [, value]) => total + value, 0);
  return html`<h2>Why it ended for players</h2>${bars("Reasons", left, all, "Reason")}`;
}
