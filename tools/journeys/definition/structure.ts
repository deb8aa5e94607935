import { z } from "zod";
import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Definition, Node } from "./definition.ts";
import {
  danglingEdges,
  type Graph,
  graphOf,
  instantLoops,
  labelsOf,
  type Place,
  unreachable,
} from "./graph.ts";

/** One fault of a journey, or one thing to know about it. */
export const Problem = z.object({
  node: z.string().nullable().describe("The id of the node; null where it concerns the whole journey"),
  field: z.string().describe("In the node's config, or in the journey"),
  message: z.string().describe("The fault, and its remedy"),
});
export type Problem = z.output<typeof Problem>;

export interface Problems {
  /** These prevent publishing. */
  errors: Problem[];
  warnings: Problem[];
}

/** The faults of the nodes and edges, found without the database. */
export function structureProblems(definition: Definition): Problems {
  const { nodes } = definition;
  const graph = graphOf(definition);
  return {
    errors: [...graphProblems(graph), ...nodes.flatMap(ownProblems)],
    warnings: nodes.flatMap((node) => openEnds(definition, node)),
  };
}

/** The faults of nodes by the edges between them. */
export function graphProblems(graph: Graph): Problem[] {
  return [
    ...triggerProblems(graph),
    ...idProblems(graph),
    ...edgeProblems(graph),
    ...loopProblems(graph),
    ...(graph.isWhole ? reachProblems(graph) : []),
  ];
}

function triggerProblems({ places, edges, isWhole }: Graph): Problem[] {
  const triggers = places.filter(({ isTrigger }) => isTrigger);
  if (triggers.length === 0) {
    return [{ node: null, field: "nodes", message: "There is no way in. Add a node of type trigger." }];
  }
  return triggers.flatMap(({ id }) => [
    ...(edges.some(({ to }) => to === id)
      ? [
          {
            node: id,
            field: "edges",
            message: "An edge leads into this trigger. Lead it to the node behind it.",
          },
        ]
      : []),
    ...(!isWhole || edges.some(({ from }) => from === id)
      ? []
      : [{ node: id, field: "edges", message: "The trigger leads nowhere. Add an edge to the first node." }]),
  ]);
}

function idProblems({ places }: Graph): Problem[] {
  return places
    .filter(({ id }, index) => places.findIndex((one) => one.id === id) < index)
    .map(({ id }) => ({
      node: id,
      field: "id",
      message: `Two nodes are called ${id}. Give one another id.`,
    }));
}

function edgeProblems(graph: Graph): Problem[] {
  const dangling = danglingEdges(graph).map(({ missing, index }): Problem => {
    const message = `An edge names the node ${missing}, which is not there. Add the node, or correct the edge.`;
    return { node: null, field: `edges[${index}]`, message };
  });
  return [...dangling, ...graph.places.flatMap((place) => labelProblems(graph, place))];
}

function labelProblems({ edges }: Graph, { id, labels }: Place): Problem[] {
  const own = edges.filter(({ from }) => from === id);
  if (labels?.length === 0 && own.length > 0) {
    return [{ node: id, field: "edges", message: "The journey ends here. Remove the edge that leads away." }];
  }
  return own.flatMap(({ label, index }): Problem[] => {
    const field = `edges[${index}].label`;
    if (label !== undefined && labels && !labels.includes(label)) {
      const message = `${label} is no way out of this node. Its ways out are ${labels.join(", ")}.`;
      return [{ node: id, field, message }];
    }
    const first = own.find((edge) => edge.label === label)!;
    if (first.index === index) return [];
    const which = label === undefined ? "without a label" : `for ${label}`;
    return [{ node: id, field, message: `Two edges ${which} lead away. Keep one.` }];
  });
}

/** The faults of a node's config that its schema cannot find. */
export function ownProblems(node: Node): Problem[] {
  const problems = kindOf(node.type).problems?.(node.config) ?? [];
  return problems.map(({ field, message }) => ({ node: node.id, field, message: `${field} ${message}.` }));
}

function loopProblems(graph: Graph): Problem[] {
  return instantLoops(graph).map((loop) => ({
    node: loop[0]!,
    field: "edges",
    message: `People would go round ${loop.join(" → ")} without a pause. Put a delay of a minute or more into it.`,
  }));
}

function reachProblems(graph: Graph): Problem[] {
  return unreachable(graph).map(({ id }) => ({
    node: id,
    field: "edges",
    message: "No trigger leads here. Add an edge to the node, or remove it.",
  }));
}

/** Ways out without an edge: the journey is over for the people who take them. */
function openEnds({ edges }: Definition, node: Node): Problem[] {
  const own = edges.filter(({ from }) => from === node.id);
  if (node.type === "trigger" || own.some(({ label }) => label === undefined)) return [];
  const open = labelsOf(node).filter((label) => !own.some((edge) => edge.label === label));
  if (open.length === 0) return [];
  return [
    {
      node: node.id,
      field: "edges",
      message: `The journey ends here for people who take ${open.join(", ")}. Add an edge if it is to go on.`,
    },
  ];
}
