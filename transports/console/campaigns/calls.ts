import { html } from "hono/html";
import { invalid } from "#runtime/faults.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { CallStats } from "#tools/voice-calls/figures.ts";
import { figures, type Tile } from "#transports/console/bars.ts";
import type { Row } from "#transports/console/desk.ts";
import { area, type Filled } from "#transports/console/fields.ts";
import { count } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";

type Counted = CallStats["simulated"];

/** The calls of a campaign, real and simulated ones apart, with all their outcomes. */
export function callFigures(calls: CallStats, campaignId: unknown): Html {
  const { simulated } = calls;
  return html`<h2>Calls</h2>${calls.placed > 0 ? countsOf(calls) : ""}${simulated.placed > 0 ? html`<p>Simulated: nobody was called.</p>${countsOf(simulated)}` : ""}<p><a href="/console/records/voice_calls?column=campaign_id&amp;operator=eq&amp;value=${campaignId}">Each call with its transcript</a></p>`;
}

function countsOf({ placed, no_answer, busy, failed, barred, unknown, open, voicemail_left }: Counted): Html {
  return figures({ placed, voicemail_left, no_answer, busy, failed, barred, unknown, open });
}

/** The results of a campaign of calls. Calls of the simulator stand alone, and say that nobody was called. */
export function callTiles(calls: CallStats, audience: number): Tile[] {
  const isPlayed = calls.placed === 0 && calls.simulated.placed > 0;
  const counted = isPlayed ? calls.simulated : calls;
  const note = isPlayed ? "simulated" : "";
  const share = (value: number) =>
    counted.placed === 0
      ? note
      : `${((100 * value) / counted.placed).toFixed(1)} % of calls${note && `, ${note}`}`;
  const { abandoned_share: law, cost, cost_currency } = calls;
  return [
    { name: "Calls", value: count(counted.placed), note: note || `of ${count(audience)}` },
    { name: "Answered", value: count(counted.answered), note: share(counted.answered) },
    { name: "Voicemail", value: count(counted.voicemail), note: share(counted.voicemail) },
    { name: "Opted out", value: count(counted.opted_out), note: share(counted.opted_out) },
    {
      name: "Abandoned",
      value: law.percent === null ? "none" : `${law.percent.toFixed(1)} %`,
      note: `in ${law.days} days, at most ${law.most_percent} %`,
    },
    { name: "Minutes", value: count(counted.minutes), note },
    { name: "Cost", value: cost === null ? "not known" : amountOf(cost, cost_currency), note: "" },
  ];
}

function amountOf(cost: number, currency: string | null): string {
  if (currency === null) return `${cost.toLocaleString("en-US")} in several currencies`;
  return cost.toLocaleString("en-US", { style: "currency", currency });
}

/** The field of a voice campaign's script. */
export function scriptField(filled: Filled): Html {
  return area(filled, {
    name: "voice_script",
    label: "Script of the call, as JSON",
    rows: 18,
    isCode: true,
    hint: html`The guide <a href="/docs/voice">Voice</a> has an example.`,
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
  return html`<p class="soft">Every call first says whose it is and how to stop all calls, and at its end the number ${callback_number}. <a href="/docs/voice">What every call says</a></p>`;
}
