// @ts-check
import { html } from "./html.js";
import { figures, linked, percent } from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {import("./parts.js").Tile} Tile
 * @typedef {import("#tools/voice-calls/figures.ts").CallStats} CallStats
 */

/** The calls of a campaign, real and simulated ones apart, with all their outcomes.
 * @param {Reader} reader @param {CallStats} calls @param {string} campaignId */
export function callFigures(reader, calls, campaignId) {
  const { words, pathOf } = reader;
  const { simulated } = calls;
  const path = pathOf("calls", campaignId);
  const each = path ? html`<p>${linked(path, words.campaigns.eachCallWithItsTranscript)}</p>` : "";
  const played =
    simulated.placed > 0
      ? html`<p>${words.campaigns.simulatedNobodyWasCalled}</p>${outcomesOf(reader, simulated)}`
      : "";
  return html`<h2>${words.campaigns.calls}</h2>${calls.placed > 0 ? outcomesOf(reader, calls) : ""}${played}${each}`;
}

/** @param {Reader} reader @param {CallStats["simulated"]} counted */
function outcomesOf(reader, { placed, no_answer, busy, failed, barred, unknown, open, voicemail_left }) {
  return figures(reader, { placed, voicemail_left, no_answer, busy, failed, barred, unknown, open });
}

/** The results of a campaign of calls. Calls of the simulator stand alone, and say that nobody was called.
 * @param {Reader} reader @param {CallStats} calls @param {number} audience @returns {Tile[]} */
export function callTiles({ words, count, money }, calls, audience) {
  const isPlayed = calls.placed === 0 && calls.simulated.placed > 0;
  const { placed, answered, voicemail, opted_out, minutes } = isPlayed ? calls.simulated : calls;
  const note = isPlayed ? words.report.simulated : "";
  /** @param {number} value */
  const share = (value) => {
    if (placed === 0) return note;
    const said = words.report.ofCalls(percent(value, placed));
    return isPlayed ? `${said}, ${note}` : said;
  };
  /** @param {number} cost @param {string | null} currency */
  const amountOf = (cost, currency) =>
    currency === null ? words.report.inSeveralCurrencies(count(cost)) : money(cost, currency);
  const { abandoned_share: law, cost, cost_currency } = calls;
  return [
    {
      name: words.campaigns.calls,
      value: count(placed),
      note: note || words.report.ofAudience(count(audience)),
    },
    { name: words.report.answered, value: count(answered), note: share(answered) },
    { name: words.report.voicemail, value: count(voicemail), note: share(voicemail) },
    { name: words.report.optedOut, value: count(opted_out), note: share(opted_out) },
    {
      name: words.report.abandoned,
      value: law.percent === null ? words.general.none : `${law.percent.toFixed(1)} %`,
      note: words.report.inDaysAtMost(law.days, law.most_percent),
    },
    { name: words.report.minutes, value: count(minutes), note },
    { name: words.report.cost, value: cost === null ? words.report.notKnown : amountOf(cost, cost_currency) },
  ];
}
