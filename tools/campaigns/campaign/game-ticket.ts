import { z } from "zod";
import { type FaultDetail, invalid } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** The ticket that comes with the campaign's link to a game. */
export const GameTicket = z.strictObject({
  game_id: z.uuid().describe("From list_games"),
  expires_in_days: z
    .int()
    .min(1)
    .max(30)
    .optional()
    .describe("After the message was sent. Default: the ticket lasts as long as the game"),
});
export type GameTicket = z.output<typeof GameTicket>;

/** A campaign, as far as its ticket goes. */
interface Ticketed {
  game_ticket?: GameTicket | null | undefined;
}

interface NamedGame {
  name: string;
  status: string;
}

/** The game of a campaign's ticket; undefined without a ticket, and where the game is gone. */
async function ticketGame(
  { sql, property }: Tenant,
  { game_ticket: ticket }: Ticketed,
): Promise<NamedGame | undefined> {
  if (!ticket) return undefined;
  const [game] = await sql<NamedGame[]>`
    select name, status from games
    where property_id = ${property.id} and id = ${ticket.game_id} and deleted_at is null`;
  return game;
}

/** Throws `invalid` for a ticket of a game that is not there. */
export async function checkTicket(tenant: Tenant, campaign: Ticketed): Promise<void> {
  if (campaign.game_ticket && !(await ticketGame(tenant, campaign)))
    throw invalid("game_ticket.game_id", "names a game that is not in this property; list_games shows them");
}

/** The reasons for which nobody could use the ticket. `variables`: of the messages. */
export async function ticketProblems(
  tenant: Tenant,
  campaign: Ticketed,
  variables: readonly string[],
): Promise<FaultDetail[]> {
  const game = await ticketGame(tenant, campaign);
  const over = game?.status === "ended" || game?.status === "archived";
  return [
    ...(game && !over
      ? []
      : [{ field: "game_ticket", message: `the game is ${game?.status ?? "deleted"}: nobody could play` }]),
    ...(variables.includes("game_url")
      ? []
      : [
          {
            field: "game_ticket",
            message: "the message has no {{ game_url }}, the link that brings the ticket",
          },
        ]),
  ];
}

/** Warns of a game that nobody can play yet. */
export async function ticketWarnings(tenant: Tenant, campaign: Ticketed): Promise<string[]> {
  const game = await ticketGame(tenant, campaign);
  if (!game || (game.status !== "draft" && game.status !== "paused")) return [];
  return [
    `game_ticket: the game ${JSON.stringify(game.name)} is ${game.status}; its players wait until it runs`,
  ];
}

/** The ticket in a sentence for the person who approves the campaign. */
export async function ticketWords(tenant: Tenant, campaign: Ticketed): Promise<string[]> {
  const game = await ticketGame(tenant, campaign);
  if (!game) return [];
  return [`The link of each message brings one ticket for the game ${JSON.stringify(game.name)}: one play.`];
}
