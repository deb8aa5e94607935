import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Definition, Node } from "./definition.ts";

/** A node as its neighbours see it. */
export interface Place {
  id: string;
  isTrigger: boolean;
  /** The labels of its edges; null where its config cannot be read. */
  labels: readonly string[] | null;
  /** Each person stays for a minute at least, or the config cannot be read. */
  waits: boolean;
}

/** The nodes and edges of a journey, also of a draft in which some nodes cannot be read. */
export interface Graph {
  places: Place[];
  /** With their places in the definition. */
  edges: { from: string; to: string; label?: string | undefined; index: number }[];
  /** Every edge could be read: a node to which none leads is lost. */
  isWhole: boolean;
}

export function graphOf({ nodes, edges }: Definition): Graph {
  return {
    places: nodes.map(placeOf),
    edges: edges.map((edge, index) => ({ ...edge, index })),
    isWhole: true,
  };
}

export function placeOf(node: Node): Place {
  return {
    id: node.id,
    isTrigger: node.type === "trigger",
    labels: labelsOf(node),
    waits: kindOf(node.type).waits?.(node.config) ?? false,
  };
}

/** The labels of a node's edges. */
export function labelsOf(node: Node): readonly string[] {
  return kindOf(node.type).labels(node.config);
}

/** The node that a label of a node leads to; null where the journey ends for the person. */
export function targetOf({ edges }: Pick<Definition, "edges">, from: string, label: string): string | null {
  const own = edges.filter((edge) => edge.from === from);
  const edge = own.find((one) => one.label === label) ?? own.find((one) => one.label === undefined);
  return edge?.to ?? null;
}

/** The nodes that a node's edges lead to. */
export function targetsOf({ edges }: Pick<Definition, "edges">, from: string): string[] {
  return [...new Set(edges.filter((edge) => edge.from === from).map(({ to }) => to))];
}

/** The nodes in the order of the edges: one pass carries people through all that act at once. Loops end somewhere. */
export function inOrder(definition: Definition): Node[] {
  const seen = new Set<string>();
  const ordered: Node[] = [];
  const visit = (node: Node): void => {
    if (seen.has(node.id)) return;
    seen.add(node.id);
    for (const target of targetsOf(definition, node.id)) {
      const next = definition.nodes.find(({ id }) => id === target);
      if (next) visit(next);
    }
    ordered.unshift(node);
  };
  for (const node of definition.nodes.toSorted(triggersFirst)) visit(node);
  return ordered;
}

function triggersFirst(a: Node, b: Node): number {
  return Number(b.type === "trigger") - Number(a.type === "trigger");
}

/** The nodes that no trigger leads to. */
export function unreachable(graph: Graph): Place[] {
  const reached = new Set<string>();
  const visit = (id: string): void => {
    if (reached.has(id)) return;
    reached.add(id);
    for (const target of targetsOf(graph, id)) visit(target);
  };
  for (const { id, isTrigger } of graph.places) if (isTrigger) visit(id);
  return graph.places.filter(({ id }) => !reached.has(id));
}

/** Circles of nodes in which nobody waits a minute, each node in one of them at the most. */
export function instantLoops(graph: Graph): string[][] {
  const waits = new Set(graph.places.filter((place) => place.waits).map(({ id }) => id));
  const done = new Set<string>();
  const circle = (id: string, trail: string[]): string[] | null => {
    if (waits.has(id) || done.has(id)) return null;
    if (trail.includes(id)) return [...trail.slice(trail.indexOf(id)), id];
    for (const target of targetsOf(graph, id)) {
      const found = circle(target, [...trail, id]);
      if (found) return found;
    }
    done.add(id);
    return null;
  };
  return graph.places.flatMap(({ id }) => {
    const found: string[][] = [];
    for (let loop = circle(id, []); loop; loop = circle(id, [])) {
      found.push(loop);
      for (const one of loop) done.add(one);
    }
    return found;
  });
}

/** Edges that name a node that is not there. */
export function danglingEdges({ places, edges }: Graph): { index: number; missing: string }[] {
  const ids = new Set(places.map(({ id }) => id));
  return edges.flatMap(({ from, to, index }) => {
    const missing = [from, to].filter((id) => !ids.has(id));
    return missing.map((id) => ({ index, missing: id }));
  });
}
