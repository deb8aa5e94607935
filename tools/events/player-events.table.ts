import { z } from "zod";
import { createOnly, pastTime } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

/** The pattern of an event's name. Conditions name it, so it holds no quotes and does not end in a dot. */
export const EVENT_NAME = "[A-Za-z](?:[A-Za-z0-9 _.:-]{0,58}[A-Za-z0-9_])?";

/** The refusal of a name that does not match `EVENT_NAME`. */
export const EVENT_NAME_WORDS = "must be 1 to 60 letters, digits, spaces and _ . : -, a letter first";

export default table({
  name: "player_events",
  noun: "player_event",
  description:
    "A player event is an action of a player, such as a visit or a deposit, reported by the property's own systems. Segments use event.<name>.count, .last_at, .first_at and .sum:<property>. Events can be added, but not changed or removed.",
  verbs: ["list", "get", "create"],
  own: ["create"],
  columns: {
    player_id: createOnly(z.uuid().describe("The player's id, from list_players")),
    name: createOnly(
      z
        .string()
        .regex(new RegExp(`^${EVENT_NAME}$`), EVENT_NAME_WORDS)
        .describe('What happened, such as "deposit" or "Hotel Stay"'),
      { vocabulary: true },
    ),
    occurred_at: createOnly(pastTime().describe("When it happened. Default: now")),
    properties: createOnly(
      z
        .record(z.string(), z.unknown())
        .default({})
        .describe('More about it, such as {"amount": 250}; 8 KB at most'),
    ),
    source: createOnly(z.string().trim().min(1).max(100).nullish().describe("The system that reports it"), {
      vocabulary: true,
    }),
    external_id: createOnly(
      z
        .string()
        .trim()
        .min(1)
        .max(200)
        .nullish()
        .describe("The reporting system's own id of the event. A repeated event is stored once"),
    ),
  },
});
