import { bars, count, figures, money, sorted, table, text } from "./parts.js";

const lines = (rows) => rows.map(({ node, reason, messages }) => [text(node), text(reason), count(messages)]);

/** The answer of simulate_journey. */
export function render(simulated) {
  const { figures: all, nodes, sends } = simulated;
  const byNode = {};
  for (const { node, messages } of sends) byNode[node] = (byNode[node] ?? 0) + messages;
  const rows = nodes.map(({ node, type, entered, here }) => [
    `${text(node)} <span class="soft">${text(type)}</span>`,
    count(entered),
    count(here),
    count(byNode[node]),
  ]);
  const costs = simulated.cost.map((cost) => [text(cost.node), text(money(cost))]);
  const totals = [
    ["entered", count(simulated.entered)],
    ["barred", count(simulated.barred)],
    ["goal_reached", count(all.goal_reached)],
    ["messages", count(Object.values(byNode).reduce((sum, some) => sum + some, 0))],
  ];
  return `<h1>${text(simulated.from)} to ${text(simulated.to)}</h1><p>Nothing was sent: this is a simulation.</p>${figures(totals)}${bars("Why they left", sorted(all.reasons), simulated.entered)}${table("Nodes", ["Node", "In", "Here", "Messages"], rows)}${table("Kept back", ["Node", "Reason", "Messages"], lines(simulated.not_sent))}${table("Delayed", ["Node", "Reason", "Messages"], lines(simulated.deferred))}${table("Cost", ["Node", "Cost"], costs)}`;
}
