import { Graph, layout } from "@dagrejs/dagre";
import type { ColorName, Theme } from "#tools/themes/theme.ts";
import { edgeWords, type Picture, type PictureEdge, type PictureNode } from "./picture.ts";

const WIDTH = 236;
const HEIGHT = 58;
const MARGIN = 24;
const TITLE = 44;
/** Bold letters that fit into a node. */
const MOST_TITLE = 27;

interface Point {
  x: number;
  y: number;
}

/** The colour of each kind of node: the property's brand for messages, its accent for ends that were wished for. */
const COLOURS: Readonly<Record<PictureNode["type"], ColorName>> = {
  trigger: "ink",
  message: "brand",
  delay: "line",
  wait_until: "line",
  time_window: "line",
  rate_limit: "line",
  branch: "soft",
  random_split: "soft",
  update_player: "soft",
  add_to_segment: "soft",
  grant_game_play: "soft",
  webhook: "soft",
  goal: "accent",
  exit: "ink",
};

const STYLE = `
  text { font: 13px system-ui, "Segoe UI", sans-serif; fill: var(--ink) }
  .title { font-size: 18px; font-weight: 600 }
  .name { font-weight: 600 }
  .detail, .words { font-size: 12px; fill: var(--soft) }
  .box { fill: var(--paper); stroke: var(--line); stroke-opacity: .5 }
  .edge { fill: none; stroke: var(--line); stroke-width: 1.5 }
  .arrow { fill: var(--line) }
  .tag, .page { fill: var(--ground) }
  .here { font-size: 12px; font-weight: 600; fill: var(--paper) }`;

/** The colours as custom properties, those of the dark mode too. */
function styleOf({ light, dark }: Pick<Theme, "light" | "dark">): string {
  const properties = (colors: Theme["light"]) =>
    `svg { ${Object.entries(colors)
      .map(([name, value]) => `--${name}: ${value}`)
      .join("; ")} }`;
  return `
  ${properties(light)}
  @media (prefers-color-scheme: dark) { ${properties(dark)} }${STYLE}`;
}

/**
 * The picture as an SVG in a theme's colours, laid out from top to bottom. The title and a description are for screen
 * readers.
 */
export function svgOf(picture: Picture, theme: Pick<Theme, "light" | "dark">): string {
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
<style>${styleOf(theme)}</style>
<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="arrow" d="M0 0L10 5L0 10z"/></marker></defs>
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
    ? `<rect x="${WIDTH - 40}" y="-10" width="48" height="20" rx="10" fill="var(--${COLOURS[type]})"/><text class="here" x="${WIDTH - 16}" y="4" text-anchor="middle">${here}</text>`
    : "";
  return `<g transform="translate(${left} ${top})"><rect class="box" width="${WIDTH}" height="${HEIGHT}" rx="8"/><rect width="6" height="${HEIGHT}" rx="3" fill="var(--${COLOURS[type]})"/><text class="name" x="18" y="24">${escaped(cut(title, MOST_TITLE))}</text><text class="detail" x="18" y="43">${escaped(detail)}</text>${badge}</g>`;
}

function edgeSvg(edge: PictureEdge, { points, x, y }: { points: Point[] } & Partial<Point>): string {
  const [first, ...rest] = points.map((point) => `${round(point.x)} ${round(point.y)}`);
  const line = `<path class="edge" d="M${first}L${rest.join("L")}" marker-end="url(#arrow)"/>`;
  const words = edgeWords(edge);
  if (words === "" || x === undefined || y === undefined) return line;
  const width = 7 * words.length + 8;
  return `${line}<rect class="tag" x="${round(x - width / 2)}" y="${round(y - 9)}" width="${width}" height="18" rx="4"/><text class="words" x="${round(x)}" y="${round(y + 4)}" text-anchor="middle">${escaped(words)}</text>`;
}

function inWords({ nodes, edges, words }: Picture): string {
  const named = new Map(nodes.map(({ id, title }) => [id, title]));
  return edges
    .map((edge) => words.leadsTo(`${named.get(edge.from)}`, `${named.get(edge.to)}`, edgeWords(edge)))
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
