import { dirname, join } from "node:path";
import { importsOf, sourcesIn } from "../support/checkout/source-files.ts";

/** The imports of each node. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** The files of a folder, and which of each other's they import, types included. */
export function importGraph(folders: readonly string[]): Graph {
  const files = folders.flatMap(sourcesIn);
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const targets = importsOf(file).map((specifier) => targetOf(file, specifier));
      return [file, new Set(targets.filter((target) => known.has(target)))];
    }),
  );
}

/** The same between groups of nodes, without what stays in its group. */
export function grouped(graph: Graph, groupOf: (node: string) => string): Graph {
  const groups = new Map<string, Set<string>>();
  for (const [from, targets] of graph) {
    const group = groupOf(from);
    const others = groups.get(group) ?? new Set();
    for (const to of targets) if (groupOf(to) !== group) others.add(groupOf(to));
    groups.set(group, others);
  }
  return groups;
}

/** The arrows from which one comes back to where they began. */
export function circlingArrows(graph: Graph): string[] {
  const reached = new Map([...graph.keys()].map((node) => [node, reachable(graph, node)]));
  return [...graph]
    .flatMap(([from, targets]) =>
      [...targets].filter((to) => reached.get(to)?.has(from)).map((to) => `${from} → ${to}`),
    )
    .sort();
}

function reachable(graph: Graph, start: string): Set<string> {
  const seen = new Set<string>();
  const left = [start];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    for (const to of graph.get(node) ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      left.push(to);
    }
  }
  return seen;
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith("#")) return specifier.slice(1);
  return specifier.startsWith(".") ? join(dirname(file), specifier) : specifier;
}
