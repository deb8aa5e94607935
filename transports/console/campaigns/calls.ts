import { html } from "hono/html";
import { invalid } from "#runtime/faults.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { CallStats } from "#tools/voice-calls/figures.ts";
import { figures, type Tile } from "#transports/console/bars.ts";
import type { Row } from "#transports/console/desk.ts";
import { area, type Filled } from "#transports/console/fields.ts";
import { count, money, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

type Counted = CallStats["simulated"];

/** The calls of a campaign, real and simulated ones apart, with all their outcomes. */
export function callFigures(calls: CallStats, campaignId: unknown): Html {
  const { simulated } = calls;
  return html`<h2>${say().campaigns.calls}</h2>${calls.placed > 0 ? countsOf(calls) : ""}${simulated.placed > 0 ? html`<p>${say().campaigns.simulatedNobodyWasCalled}</p>${countsOf(simulated)}` : ""}<p><a href="/console/records/voice_calls?column=campaign_id&amp;operator=eq&amp;value=${campaignId}">${say().campaigns.eachCallWithItsTranscript}</a></p>`;
}

function countsOf({ placed, no_answer, busy, failed, barred, unknown, open, voicemail_left }: Counted): Html {
  return figures({ placed, voicemail_left, no_answer, busy, failed, barred, unknown, open });
}

/** The results of a campaign of calls. Calls of the simulator stand alone, and say that nobody was called. */
export function callTiles(calls: CallStats, audience: number): Tile[] {
  const { report } = say();
  const isPlayed = calls.placed === 0 && calls.simulated.placed > 0;
  const counted = isPlayed ? calls.simulated : calls;
  const note = isPlayed ? report.simulated : "";
  const share = (value: number) => {
    if (counted.placed === 0) return note;
    const words = report.ofCalls(((100 * value) / counted.placed).toFixed(1));
    return isPlayed ? `${words}, ${note}` : words;
  };
  const { abandoned_share: law, cost, cost_currency } = calls;
  return [
    {
      name: say().campaigns.calls,
      value: count(counted.placed),
      note: note || report.ofAudience(count(audience)),
    },
    { name: report.answered, value: count(counted.answered), note: share(counted.answered) },
    { name: report.voicemail, value: count(counted.voicemail), note: share(counted.voicemail) },
    { name: report.optedOut, value: count(counted.opted_out), note: share(counted.opted_out) },
    {
      name: report.abandoned,
      value: law.percent === null ? say().general.none : `${law.percent.toFixed(1)} %`,
      note: report.inDaysAtMost(law.days, law.most_percent),
    },
    { name: report.minutes, value: count(counted.minutes), note },
    { name: report.cost, value: cost === null ? report.notKnown : amountOf(cost, cost_currency), note: "" },
  ];
}

function amountOf(cost: number, currency: string | null): string {
  return currency === null ? say().report.inSeveralCurrencies(count(cost)) : money(cost, currency);
}

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
