import { z } from "zod";

/** The job that puts a won prize into its player's inbox, in the form for `enqueue`. */
export const TELL_WINNER = { name: "tell_winner", attempts: 20, input: z.object({ playId: z.uuid() }) };
