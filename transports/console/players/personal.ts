import { html } from "hono/html";
import { invalid } from "#runtime/faults.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { figures } from "#transports/console/bars.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, formOf, input, type Option, select } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { words } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";

/** A person's requests of the casino: to hear no more, a copy of their data, or their erasure. */
export function personalSection(desk: Desk, player: Row): Html {
  const path = `${PART}/${player.id}`;
  const filled = { values: {} };
  const channels: Option[] = [
    ["all", say().general.everyChannel],
    ...CHANNELS.map((one): Option => [one, words(one)]),
  ];
  const stop = formOf(desk, {
    action: `${path}/stop`,
    filled,
    kind: "bare",
    content: html`${select(filled, { name: "channel", label: say().general.channel, options: channels })}${input(filled, { name: "reason", label: say().players.whatTheySaid, most: 500, hint: say().players.suchAsAskedAtDesk })}<div class="acts"><button class="quiet small">${say().players.recordTheRefusal}</button></div>`,
  });
  const erase = formOf(desk, {
    action: `${path}/erase`,
    filled,
    kind: "bare",
    content: html`${input(filled, { name: "confirm", label: html`${say().players.writeToConfirm(String(player.player_id))}`, isRequired: true, most: 200 })}<div class="acts"><button class="grave small">${say().players.eraseForGood}</button></div>`,
  });
  return html`<h2>${say().players.ifThePersonAsks}</h2><div class="two"><section class="pane"><h3>${say().players.toHearNoMore}</h3><p class="soft">${say().players.fromNowOnNoMessage}</p>${stop}</section><section class="pane"><h3>${say().players.forCopyTheirData}</h3><p class="soft">${say().players.oneFileWithAllThat}</p>${actButton(desk, `${path}/export`, say().players.exportTheData)}<details><summary>${say().players.erasureOpens}</summary><p>${say().players.allDataPersonGoesConsents}</p>${erase}</details></section></div>`;
}

/** Records that the player wants no more messages. */
export async function recordStop(desk: Desk): Promise<Response> {
  const playerId = desk.c.req.param("id")!;
  const channel = desk.form.get("channel") ?? "all";
  const reason = desk.form.get("reason")?.trim();
  await desk.once("consent_revoke", {
    playerId,
    channel,
    method: "agent",
    consentSource: "console",
    ...(reason && { reason }),
  });
  return redirect(`${PART}/${playerId}`);
}

/** All data of the player as a file. */
export async function exportPlayer(desk: Desk): Promise<Response> {
  const playerId = desk.c.req.param("id")!;
  const exported = await desk.run("data_export", { playerId });
  return new Response(JSON.stringify(exported, null, 2), {
    headers: {
      "content-type": "application/json; charset=utf-8",
      "content-disposition": `attachment; filename="player-${playerId}.json"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}

/** Erases the player, if the form names them. */
export async function erasePlayer(desk: Desk): Promise<Response> {
  const playerId = desk.c.req.param("id")!;
  const player = await desk.run("get_player", { id: playerId });
  if (desk.form.get("confirm")?.trim() !== player.player_id) {
    throw invalid("confirm", `must be ${player.player_id}, the player's id`);
  }
  const erased = await desk.run<{ deleted: Record<string, number>; anonymized: Record<string, number> }>(
    "data_deletion",
    { playerId },
  );
  const sum = (rows: Record<string, number>) => Object.values(rows).reduce((total, one) => total + one, 0);
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().general.players },
    heading: say().players.erasedHeading,
    content: html`<p class="said" role="status">${say().players.allDataPersonGone}</p>${figures({ rows_removed: sum(erased.deleted), rows_kept_without_the_person: sum(erased.anonymized) })}<p><a href="/console/records/privacy_requests">${say().players.thePrivacyRequests}</a></p>`,
  });
}
