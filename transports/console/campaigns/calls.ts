import { html } from "hono/html";
import { invalid } from "#runtime/faults.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { Row } from "#transports/console/desk.ts";
import { area, type Filled } from "#transports/console/fields.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** The field of a voice campaign's script. */
export function scriptField(filled: Filled): Html {
  return area(filled, {
    name: "voice_script",
    label: say().campaigns.scriptCallAsJson,
    rows: 18,
    isCode: true,
    hint: html`${say().campaigns.theGuide} <a href="/docs/voice">${say().campaigns.voice}</a> ${say().campaigns.hasAnExample}`,
  });
}

/** The script of a form that has one. */
export function scriptIn(form: URLSearchParams): Row {
  const written = form.get("voice_script");
  if (written === null) return {};
  try {
    return { voice_script: written.trim() === "" ? null : JSON.parse(written) };
  } catch {
    throw invalid("voice_script", "is not valid JSON");
  }
}

/** A campaign's script as the form shows it. */
export function scriptText({ voice_script }: Row): string {
  return voice_script ? JSON.stringify(voice_script, null, 2) : "";
}

/** The sentences that the law adds to every call of the script. */
export function lawOf({ callback_number }: VoiceScript): Html {
  return html`<p class="soft">${say().campaigns.everyCall(callback_number)} <a href="/docs/voice">${say().campaigns.whatEveryCallSays}</a></p>`;
}
