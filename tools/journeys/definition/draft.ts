import type { z } from "zod";
import { briefly } from "#runtime/brief.ts";
import { KINDS, kindOf, type NodeType } from "#tools/journeys/nodes/all.ts";
import { Definition, MOST_EDGES, MOST_NODES, Node } from "./definition.ts";
import { type Graph, type Place, placeOf } from "./graph.ts";
import { graphProblems, ownProblems, type Problem } from "./structure.ts";

type Issues = z.core.ParsePayload["issues"];

const text = { type: "string" };

/**
 * The definition of a draft. To its faults of form, if it has any, come those of its graph and of the nodes that can be
 * read: the author learns all of them at once. A definition without faults of form can be saved.
 */
export const DraftDefinition = briefly(
  Definition.superRefine((value: unknown, { issues }) => judge(value, issues), { when: () => true }).meta({
    id: "JourneyDefinition",
  }),
  {
    type: "object",
    description: "Nodes and edges. The resource schema://journeys has each node's config, with an example",
    required: ["nodes", "edges"],
    properties: {
      nodes: {
        type: "array",
        items: {
          type: "object",
          required: ["id", "type"],
          properties: {
            id: text,
            type: { enum: Object.keys(KINDS) },
            name: text,
            config: { type: "object" },
          },
        },
      },
      edges: {
        type: "array",
        items: {
          type: "object",
          required: ["from", "to"],
          properties: { from: text, to: text, label: text },
        },
      },
    },
  },
);

function judge(value: unknown, issues: Issues): void {
  if (issues.length === 0) return;
  const given = listsIn(value);
  if (!given || given.nodes.length > MOST_NODES || given.edges.length > MOST_EDGES) return;
  const read = given.nodes.flatMap((one) => {
    const parsed = Node.safeParse(one);
    return parsed.success ? [parsed.data] : [];
  });
  const ids = given.nodes.map(idOf);
  const found = [...graphProblems(graphIn(given, read)), ...read.flatMap(ownProblems)];
  for (const problem of found) {
    const path = pathOf(problem, problem.node === null ? -1 : ids.lastIndexOf(problem.node));
    issues.push({ code: "custom", path, message: problem.message, input: value });
  }
}

interface Lists {
  nodes: unknown[];
  edges: unknown[];
}

function listsIn(value: unknown): Lists | null {
  if (typeof value !== "object" || value === null) return null;
  const { nodes, edges } = value as Partial<Record<keyof Lists, unknown>>;
  return Array.isArray(nodes) && Array.isArray(edges) ? { nodes, edges } : null;
}

/** A node that cannot be read has a place if it has an id. An edge without both ends is left out. */
function graphIn({ nodes, edges }: Lists, read: readonly Node[]): Graph {
  const places = nodes.flatMap((one): Place[] => {
    const id = idOf(one);
    if (id === null) return [];
    const node = read.find((known) => known.id === id);
    if (node) return [placeOf(node)];
    const type = textOf(one, "type");
    return [{ id, isTrigger: type === "trigger", labels: labelsIn(one, type), waits: true }];
  });
  const ways = edges.flatMap((one, index) => {
    const [from, to, label] = ["from", "to", "label"].map((field) => textOf(one, field));
    return from && to ? [{ from, to, ...(label && { label }), index }] : [];
  });
  return { places, edges: ways, isWhole: ways.length === edges.length };
}

/** The labels of a node whose config is wrong elsewhere; null where they are wrong themselves. */
function labelsIn(node: unknown, type: string | null): readonly string[] | null {
  if (type === null || !Object.hasOwn(KINDS, type)) return null;
  try {
    const labels = kindOf(type as NodeType).labels((node as { config?: unknown }).config);
    return labels.every((label) => typeof label === "string") ? labels : null;
  } catch {
    return null;
  }
}

const idOf = (node: unknown): string | null => textOf(node, "id");

function textOf(value: unknown, field: string): string | null {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, field)) return null;
  const found = (value as Record<string, unknown>)[field];
  return typeof found === "string" && found !== "" ? found : null;
}

/** The place of a problem in the definition, by way of its node: an answer names the node's id for it. */
function pathOf({ field }: Problem, index: number): PropertyKey[] {
  if (index < 0) return [field];
  if (field === "id" || field === "edges" || field.startsWith("edges[")) return ["nodes", index];
  return ["nodes", index, "config", field];
}
