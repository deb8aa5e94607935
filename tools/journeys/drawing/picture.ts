import type { Definition } from "#tools/journeys/definition/definition.ts";
import type { NodeFigures } from "#tools/journeys/report/figures.ts";
import { captionOf } from "./captions.ts";
import { PICTURE_WORDS, type PictureWords } from "./words.ts";

/** A journey as it is drawn. */
export interface Picture {
  title: string;
  words: PictureWords;
  nodes: PictureNode[];
  edges: PictureEdge[];
}

export interface PictureNode {
  id: string;
  type: Definition["nodes"][number]["type"];
  title: string;
  detail: string;
  /** People who stand here; null where nobody was ever inside. */
  here: number | null;
}

export interface PictureEdge {
  from: string;
  to: string;
  label: string | null;
  /** People who took it; null where nobody was ever inside. */
  people: number | null;
}

/** The picture of a definition, with the figures of its people if it was published. */
export function pictureOf(
  title: string,
  definition: Definition,
  figures: readonly NodeFigures[] | null,
  words: PictureWords = PICTURE_WORDS.en,
): Picture {
  const known = new Set(definition.nodes.map(({ id }) => id));
  const edges = definition.edges.filter(({ from, to }) => known.has(from) && known.has(to));
  const taken = (from: string, to: string, label: string | undefined) => {
    const node = figures?.find((one) => one.node === from);
    if (!node) return null;
    const own = edges.filter((edge) => edge.from === from).map((edge) => edge.label);
    const mine = node.edges.filter(
      (edge) => edge.to === to && (label === undefined ? !own.includes(edge.label) : edge.label === label),
    );
    return mine.reduce((sum, { people }) => sum + people, 0);
  };
  return {
    title,
    words,
    nodes: definition.nodes.map((node) => ({
      id: node.id,
      type: node.type,
      ...captionOf(node, words),
      here: figures?.find((one) => one.node === node.id)?.here ?? null,
    })),
    edges: edges.map(({ from, to, label }) => ({
      from,
      to,
      label: label === undefined ? null : (words.ways[label] ?? label.replaceAll("_", " ")),
      people: taken(from, to, label),
    })),
  };
}

/** The words on an edge. */
export function edgeWords({ label, people }: PictureEdge): string {
  const name = label ?? "";
  if (people === null) return name;
  return name === "" ? String(people) : `${name}: ${people}`;
}
