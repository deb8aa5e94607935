import { Graph, layout } from "@dagrejs/dagre";
import { edgeWords, type Picture, type PictureEdge, type PictureNode } from "./picture.ts";

const WIDTH = 236;
const HEIGHT = 58;
const MARGIN = 24;
const TITLE = 44;

interface Point {
  x: number;
  y: number;
}

/** Fill and line of each kind of node. */
const COLOURS: Readonly<Record<PictureNode["type"], string>> = {
  trigger: "#0f766e",
  message: "#1d4ed8",
  delay: "#6b7280",
  wait_until: "#6b7280",
  time_window: "#6b7280",
  rate_limit: "#6b7280",
  branch: "#b45309",
  random_split: "#b45309",
  update_player: "#7c3aed",
  add_to_segment: "#7c3aed",
  grant_game_play: "#7c3aed",
  webhook: "#7c3aed",
  goal: "#15803d",
  exit: "#374151",
};

const STYLE = `
  text { font: 13px system-ui, "Segoe UI", sans-serif; fill: #111827 }
  .title { font-size: 18px; font-weight: 600 }
  .name { font-weight: 600 }
  .detail, .words { font-size: 12px; fill: #4b5563 }
  .box { fill: #ffffff; stroke: #d1d5db }
  .edge { fill: none; stroke: #9ca3af; stroke-width: 1.5 }
  .tag { fill: #f9fafb }
  .here { font-size: 12px; font-weight: 600; fill: #ffffff }
  .page { fill: #f9fafb }
  @media (prefers-color-scheme: dark) {
    text { fill: #f9fafb } .detail, .words { fill: #d1d5db } .box { fill: #1f2937; stroke: #4b5563 }
    .tag, .page { fill: #111827 } .edge { stroke: #6b7280 }
  }`;

/** The picture as an SVG, laid out from top to bottom. The title and a description are for screen readers. */
export function svgOf(picture: Picture): string {
  const graph = placed(picture);
  const { width = 0, height = 0 } = graph.graph();
  const whole = { width: Math.max(width, 320) + 2 * MARGIN, height: height + 2 * MARGIN + TITLE };
  const nodes = picture.nodes.map((node) => nodeSvg(node, graph.node(node.id)));
  const edges = picture.edges.map((edge, index) =>
    edgeSvg(edge, graph.edge(edge.from, edge.to, String(index))),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(whole.width)} ${round(whole.height)}" width="${round(whole.width)}" height="${round(whole.height)}" role="img" aria-labelledby="title desc">
<title id="title">${escaped(picture.title)}</title>
<desc id="desc">${escaped(inWords(picture))}</desc>
<style>${STYLE}</style>
<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#9ca3af"/></marker></defs>
<rect class="page" width="100%" height="100%"/>
<text class="title" x="${MARGIN}" y="${MARGIN + 12}">${escaped(picture.title)}</text>
<g transform="translate(${MARGIN} ${MARGIN + TITLE})">
${[...edges, ...nodes].join("\n")}
</g>
</svg>`;
}

function placed({ nodes, edges }: Picture) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 48, edgesep: 24 });
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const [index, edge] of edges.entries()) {
    const width = 7 * edgeWords(edge).length + 12;
    graph.setEdge(edge.from, edge.to, { width, height: 18, labelpos: "c" }, String(index));
  }
  layout(graph);
  return graph;
}

function nodeSvg({ title, detail, type, here }: PictureNode, { x, y }: Point): string {
  const [left, top] = [round(x - WIDTH / 2), round(y - HEIGHT / 2)];
  const badge = here
    ? `<rect x="${WIDTH - 40}" y="-10" width="48" height="20" rx="10" fill="${COLOURS[type]}"/><text class="here" x="${WIDTH - 16}" y="4" text-anchor="middle">${here}</text>`
    : "";
  return `<g transform="translate(${left} ${top})"><rect class="box" width="${WIDTH}" height="${HEIGHT}" rx="8"/><rect width="6" height="${HEIGHT}" rx="3" fill="${COLOURS[type]}"/><text class="name" x="18" y="24">${escaped(cut(title, 30))}</text><text class="detail" x="18" y="43">${escaped(detail)}</text>${badge}</g>`;
}

function edgeSvg(edge: PictureEdge, { points, x, y }: { points: Point[] } & Partial<Point>): string {
  const [first, ...rest] = points.map((point) => `${round(point.x)} ${round(point.y)}`);
  const line = `<path class="edge" d="M${first}L${rest.join("L")}" marker-end="url(#arrow)"/>`;
  const words = edgeWords(edge);
  if (words === "" || x === undefined || y === undefined) return line;
  const width = 7 * words.length + 8;
  return `${line}<rect class="tag" x="${round(x - width / 2)}" y="${round(y - 9)}" width="${width}" height="18" rx="4"/><text class="words" x="${round(x)}" y="${round(y + 4)}" text-anchor="middle">${escaped(words)}</text>`;
}

function inWords({ nodes, edges }: Picture): string {
  const named = new Map(nodes.map(({ id, title }) => [id, title]));
  return edges
    .map(
      (edge) =>
        `${named.get(edge.from)} leads to ${named.get(edge.to)}${edgeWords(edge) && ` (${edgeWords(edge)})`}.`,
    )
    .join(" ");
}

function cut(text: string, most: number): string {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

const round = (value: number) => Math.round(value * 10) / 10;

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as XML has it; XML has no control characters at all. */
function escaped(text: string): string {
  return text.replace(/[\p{Cc}\uFFFE\uFFFF]/gu, " ").replace(/[&<>"]/g, (letter) => ENTITIES[letter]!);
}
