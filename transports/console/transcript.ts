import { html } from "hono/html";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { numbers, tableOf } from "#transports/console/frame.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { count } from "./values.ts";

/** A call in words: who said what, at which second. */
export function transcriptOf(lines: readonly TranscriptLine[]): Html {
  const rows = lines.map(
    ({ at, by, text, fixed }) =>
      html`<tr><td class="number">${count(at)}</td><th scope="row">${by === "us" ? "The casino" : "The player"}</th><td>${text}${fixed === null ? "" : html`<p class="soft">The law wants this sentence.</p>`}</td></tr>`,
  );
  const head = [numbers("Second"), "Who", "Words"];
  return tableOf("Transcript", head, rows, html`<p>Nothing was said in this call.</p>`);
}
