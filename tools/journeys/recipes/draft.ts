import type { z } from "zod";
import type { columns } from "#tools/journeys/journey/columns.ts";

type Input<Name extends keyof typeof columns> = z.input<(typeof columns)[Name]["schema"]>;

/** The parts of a journey that a recipe fills in. */
export interface Draft {
  description: string;
  draft_definition: NonNullable<Input<"draft_definition">>;
  reentry?: Input<"reentry">;
  goal?: Input<"goal">;
}
