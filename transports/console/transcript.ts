import { html } from "hono/html";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import type { Html } from "#transports/pages/frame/page.ts";
import { count, say } from "./words/say.ts";

/** A call in words: who said what, at which second. */
export function transcriptOf(lines: readonly TranscriptLine[]): Html {
  const rows = lines.map(
    ({ at, by, text, fixed }) =>
      html`<tr><td class="number">${count(at)}</td><th scope="row">${by === "us" ? say().general.theCasino : say().general.thePlayer}</th><td>${text}${fixed === null ? "" : html`<p class="soft">${say().general.lawWantsThisSentence}</p>`}</td></tr>`,
  );
  const head = [numbers(say().general.second), say().general.who, say().general.words];
  return tableOf(say().general.transcript, head, rows, html`<p>${say().general.nothingWasSaidInThis}</p>`);
}
