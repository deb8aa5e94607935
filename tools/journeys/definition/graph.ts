import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Definition, Edge, Node } from "./definition.ts";

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
export function unreachable(definition: Definition): Node[] {
  const reached = new Set<string>();
  const visit = (id: string): void => {
    if (reached.has(id)) return;
    reached.add(id);
    for (const target of targetsOf(definition, id)) visit(target);
  };
  for (const node of definition.nodes) if (node.type === "trigger") visit(node.id);
  return definition.nodes.filter(({ id }) => !reached.has(id));
}

/** Circles of nodes in which nobody waits a minute, each node in one of them at the most. */
export function instantLoops(definition: Definition): string[][] {
  const waits = new Set(
    definition.nodes.filter((node) => kindOf(node.type).waits?.(node.config) ?? false).map(({ id }) => id),
  );
  const done = new Set<string>();
  const circle = (id: string, trail: string[]): string[] | null => {
    if (waits.has(id) || done.has(id)) return null;
    if (trail.includes(id)) return [...trail.slice(trail.indexOf(id)), id];
    for (const target of targetsOf(definition, id)) {
      const found = circle(target, [...trail, id]);
      if (found) return found;
    }
    done.add(id);
    return null;
  };
  return definition.nodes.flatMap(({ id }) => {
    const found: string[][] = [];
    for (let loop = circle(id, []); loop; loop = circle(id, [])) {
      found.push(loop);
      for (const one of loop) done.add(one);
    }
    return found;
  });
}

/** Edges that name a node that is not there. */
export function danglingEdges({
  nodes,
  edges,
}: Definition): { edge: Edge; index: number; missing: string }[] {
  const ids = new Set(nodes.map(({ id }) => id));
  return edges.flatMap((edge, index) => {
    const missing = [edge.from, edge.to].filter((id) => !ids.has(id));
    return missing.map((id) => ({ edge, index, missing: id }));
  });
}
