import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { type Catalog, catalog } from "#runtime/operation/catalog.ts";
import { createOnly, readable, writable } from "#runtime/operation/columns.ts";
import { type Operation, tool } from "#runtime/operation/operation.ts";
import { table } from "#runtime/operation/table.ts";

const players = table({
  name: "players",
  noun: "player",
  description: "The people of a property.",
  softDelete: true,
  core: ["list", "get", "create", "update", "delete"],
  columns: {
    player_id: createOnly(z.string().min(1).optional()),
    email: writable(z.email().nullable().optional()),
    first_name: writable(z.string().nullable().optional()),
    tier: writable(z.string().nullable().optional()),
    status: writable(z.enum(["active", "inactive"]).default("active")),
    tags: readable(z.array(z.string())),
  },
  beforeWrite: async (_, { verb, input }) =>
    verb === "create" ? { player_id: randomUUIDv7(), ...input } : input,
});

const setTier = tool({
  name: "set_player_tier",
  title: "Set a player's tier",
  description: "Moves one player to another loyalty tier.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    propertyId: z.uuid().describe("The property."),
    playerId: z.uuid().describe("From list_players"),
    tier: z.enum(["Silver", "Gold"]).describe("The new tier."),
  },
  output: z.object({ id: z.uuid(), tier: z.string(), property_id: z.uuid() }),
  faults: ["not_found"],
  async handler({ sql, property }, { playerId, tier }) {
    const [row] = await sql<{ id: string; tier: string; property_id: string }[]>`
      update players set tier = ${tier} where property_id = ${property.id} and id = ${playerId}
      returning id, tier, property_id`;
    if (!row)
      throw new Fault("not_found", { message: `No player with the id ${playerId} in this property.` });
    return row;
  },
});

const emailPlayers = tool({
  name: "email_players",
  title: "Email players",
  description: "Sends a newsletter to everyone.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({ success: z.literal(true) }),
  faults: ["conflict"],
  handler: async () => {
    throw new Fault("conflict", { message: "A campaign is being sent already." });
  },
});

const renameProperty = tool({
  name: "rename_property",
  title: "Rename the property",
  description: "Gives the property another name.",
  scope: "write",
  effect: "change",
  access: "manager",
  input: { name: z.string() },
  output: z.object({ success: z.literal(true) }),
  faults: [],
  handler: async () => ({ success: true as const }),
});

const exportPlayers = tool({
  name: "export_players",
  title: "Export players",
  description: "All players as CSV text.",
  scope: "read",
  core: true,
  effect: "read",
  input: { rows: z.int().min(0).max(100_000) },
  output: z.string(),
  faults: [],
  handler: async (_, { rows }) => "id,email\n".repeat(rows),
});

/** The catalog that the tests of this face speak to. */
export function smallCatalog(): Catalog {
  return catalog([
    { name: "players", title: "Players", tables: [players], tools: [setTier, exportPlayers] },
    { name: "campaigns", title: "Campaigns", tools: [emailPlayers] },
    { name: "property", title: "Property", tools: [renameProperty] },
  ]);
}

/** A catalog of `count` more tools than the small one. */
export function largeCatalog(count: number): Catalog {
  const small = smallCatalog();
  const games = Array.from(
    { length: count },
    (_, index): Operation =>
      tool({
        name: `game_${index}`,
        title: `Play game ${index}`,
        description: `Draws once in game number ${index} and says what was won.`,
        scope: "read",
        effect: "read",
        input: {
          note: z.string().optional().describe("Written into the draw."),
          stake: z.int().min(1).max(9).default(1),
        },
        output: z.object({ game: z.int(), note: z.string().nullable() }),
        faults: [],
        handler: async (__, { note }) => ({ game: index, note: note ?? null }),
      }),
  );
  return catalog([...small.domains, { name: "games", title: "Games", tools: games }]);
}
