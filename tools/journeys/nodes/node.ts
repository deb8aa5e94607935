import type { z } from "zod";
import type { Fragment } from "#db/sql.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Group } from "#tools/segments/rules/compile.ts";
import type { Referred } from "#tools/segments/rules/references.ts";

/** The moment, the property and the references for which a node's SQL is made. */
export interface Moment {
  property: Pick<Property, "id" | "timezone">;
  journeyId: string;
  /** The ISO time of the step. */
  at: string;
  /** The same as SQL. */
  now: Fragment;
  referred: Referred;
  /** The clock is the machine's: a look that takes long comes seldomer. By any other clock its length says nothing. */
  isTimed: boolean;
  /** Seconds between two times of the clock, 0 for one that runs. A time that came within them is not late. */
  tick: number;
}

/** The state in which a person begins at a node, as SQL over the enrollment `e` and the player `p`. */
export interface Arrival {
  phase: "ready" | "waiting" | "in_line";
  wakeAt: Fragment;
}

/** A node's own problem, found without its neighbours. */
export interface NodeProblem {
  /** The path in the node's config. */
  field: string;
  message: string;
}

/** A node as the definition has it. */
export interface PlacedNode<Config = unknown> {
  id: string;
  config: Config;
}

/** A type of node: its config, its edges, and the SQL that moves people on. */
export interface NodeKind<Config> {
  readonly type: string;
  /** One sentence for people and agents. */
  readonly meaning: string;
  readonly config: z.ZodType<Config>;
  /** The labels of the edges that lead away. An unlabelled edge serves every label that lacks its own. */
  labels(config: Config): readonly string[];
  /** Whether each person stays for a minute at least. A loop through such a node pauses each time round. */
  waits?(config: Config): boolean;
  /** The conditions on players that it names. */
  conditions?(config: Config): Partial<Group>[];
  problems?(config: Config): NodeProblem[];
  /** How a person begins here. Default: ready at once. */
  arrival?(node: PlacedNode<Config>, moment: Moment): Arrival;
  /**
   * The label of the edge that a due person takes, as SQL over the enrollment `d` and the player `p`. `!reason` ends the
   * journey for the person; a person with null stays, and waits anew as by `arrival`.
   */
  next?(node: PlacedNode<Config>, moment: Moment): Fragment;
}

export const NEXT = "next";
