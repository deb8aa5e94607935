import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import type { Desk } from "#transports/console/desk.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** The player and the variant of a preview. Without a player, made-up values fill the message. */
export interface Chosen {
  playerId?: string;
  variantId?: string;
}

export type Variants = readonly { id: string; name?: string }[];

/** The choice of the page's query. The player is named by id, player id or email. */
export async function chosenIn(desk: Desk): Promise<Chosen> {
  const { player, variant } = desk.c.req.query();
  const named = player?.trim() ?? "";
  const playerId = isUuid(named) || named === "" ? named : await idOf(desk, named);
  return { ...(playerId && { playerId }), ...(variant && { variantId: variant }) };
}

/** The address with the choice, so that a frame shows the same message as its page. */
export function withChosen(path: string, { playerId, variantId }: Chosen): string {
  const query = new URLSearchParams({
    ...(playerId && { player: playerId }),
    ...(variantId && { variant: variantId }),
  });
  return query.size > 0 ? `${path}?${query}` : path;
}

/**
 * The form that chooses the player and the variant of a preview. It stays on the page at `action`, and with the message
 * that is `kept`.
 */
export function choosing(
  desk: Desk,
  {
    variants,
    chosen,
    action,
    kept,
  }: { variants: Variants; chosen: Chosen; action: string; kept?: string | undefined },
): Html {
  const options = variants.map(
    ({ id, name }) =>
      html`<option value="${id}"${id === chosen.variantId ? html` selected` : ""}>${name || id}</option>`,
  );
  const select =
    variants.length === 0
      ? ""
      : html`<div class="field"><label for="variant">${say().report.variant}</label><select id="variant" name="variant">${options}</select></div>`;
  return html`<form class="search" method="get" action="${action}" role="search" aria-label="${say().report.previewForAPlayer}">${kept === undefined ? "" : html`<input type="hidden" name="variant" value="${kept}">`}<div class="field"><label for="player">${say().report.asPlayerGetsPlayerId}</label><input id="player" name="player" value="${desk.c.req.query("player") ?? ""}" maxlength="320" placeholder="${say().report.madeupValues}"></div>${select}<button class="quiet small">${say().report.show}</button></form>`;
}

async function idOf(desk: Desk, named: string): Promise<string> {
  const column = named.includes("@") ? "email" : "player_id";
  const { rows } = await desk.list("players", {
    filters: { [`${column}.eq`]: named },
    limit: 1,
    select: "id",
  });
  if (rows.length === 0) throw new Fault("not_found", { message: `No player has ${named}.` });
  return String(rows[0]!.id);
}
