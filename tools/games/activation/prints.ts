import type { Tenant } from "#runtime/operation/context.ts";
import { type Fields, type Prints, printsOf, segmentFields } from "#tools/approvals/approval.ts";
import type { Game } from "#tools/games/game/game.ts";
import { referredBy, within } from "#tools/segments/rules/references.ts";
import type { Facts } from "./facts.ts";

/** The parts of a game that people approve. All but its segment's rules stay as they are from then on. */
export async function gamePrints(tenant: Tenant, game: Game, { rules_text, prizes }: Facts): Promise<Prints> {
  const { starts_at, ends_at, draw, out_of_stock } = game;
  return printsOf({
    content: {
      rules: { words: "its rules", value: rules_text },
      prizes: { words: "its prizes", value: prizes },
    },
    audience: await audienceFields(tenant, game),
    time: { dates: { words: "its dates", value: [starts_at, ends_at] } },
    flags: { draw: { words: "its draw", value: [draw, out_of_stock] } },
  });
}

/** The prints of the part that says who may play. */
export async function playersPrints(tenant: Tenant, game: Game): Promise<Prints> {
  return printsOf({ audience: await audienceFields(tenant, game) });
}

async function audienceFields(
  { sql, property }: Tenant,
  { segment_id, min_age, void_in }: Game,
): Promise<Fields> {
  return {
    segment: { words: "its segment", value: segment_id },
    place: { words: "its age and states", value: [min_age, void_in] },
    ...(segment_id && (await segmentFields(referredBy(sql, property.id, within(segment_id))))),
  };
}
