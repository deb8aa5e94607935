import { html } from "hono/html";
import { bars, tiles } from "#transports/console/bars.ts";
import type { Row } from "#transports/console/desk.ts";
import { numbers, tableOf } from "#transports/console/frame.ts";
import { words } from "#transports/console/values.ts";
import { count, counted, say } from "#transports/console/words/say.ts";
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
      ? html`<div class="wrong" role="alert"><p>${say().journeys.moreThanAMinuteLate(counted(overdue, "player"))}</p></div>`
      : "";
  return html`${late}${figuresOf(figures)}<h2>${say().journeys.nodesOfVersion(version)}</h2>${nodesTable(nodes, String(id))}${leavers(figures)}`;
}

export function figuresOf(figures: Figures): Html {
  const share = (value: number) =>
    figures.entered === 0 ? "" : say().journeys.ofEntries(((100 * value) / figures.entered).toFixed(1));
  return tiles([
    { name: say().general.entered, value: count(figures.entered), note: counted(figures.people, "person") },
    { name: say().journeys.insideNow, value: count(figures.inside), note: share(figures.inside) },
    {
      name: say().journeys.reachedTheGoal,
      value: count(figures.goal_reached),
      note: share(figures.goal_reached),
    },
    { name: say().journeys.completed, value: count(figures.completed), note: share(figures.completed) },
    { name: say().journeys.leftBefore, value: count(figures.exited), note: share(figures.exited) },
    { name: say().journeys.failed, value: count(figures.failed), note: share(figures.failed) },
  ]);
}

/** The nodes with the players who came, went and stand there. With a journey's id they lead to those. */
export function nodesTable(nodes: readonly NodeRow[], journeyId: string | null): Html {
  const rows = nodes.map(({ node, type, entered, left, here, campaign_id }) => {
    const name = journeyId ? html`<a href="${PART}/${journeyId}/nodes/${node}">${node}</a>` : node;
    return html`<tr><th scope="row">${name}</th><td>${words(type)}</td><td class="number">${count(entered)}</td><td class="number">${count(left)}</td><td class="number">${count(here)}</td><td>${campaign_id ? html`<a href="/console/campaigns/${campaign_id}">${say().journeys.itsMessages}</a>` : ""}</td></tr>`;
  });
  return tableOf(
    say().journeys.nodes,
    [
      say().journeys.node,
      say().journeys.kind,
      numbers(say().journeys.came),
      numbers(say().journeys.went),
      numbers(say().journeys.here),
      say().journeys.figures,
    ],
    rows,
    html``,
  );
}

function leavers({ reasons }: Figures): Html | "" {
  const left = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  if (left.length === 0) return "";
  const all = left.reduce((total, [, value]) => total + value, 0);
  return html`<h2>${say().journeys.whyEndedForPlayers}</h2>${bars(say().journeys.reasons, left, all, say().general.reason)}`;
}
