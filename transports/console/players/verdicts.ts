import { html } from "hono/html";
import { CHANNELS } from "#tools/compliance/channels.ts";
import type { Desk } from "#transports/console/desk.ts";
import { term } from "#transports/console/terms.ts";
import { chip, labelOf, shown, timeOf, words } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { inEnglish, say, speech } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

interface Rule {
  rule: string;
  result: string;
  meaning: string;
  records: { table: string; id: string; what: string | null; since: string | null }[];
}

interface Verdict {
  channel: string;
  allowed: boolean;
  defer: { reasons: string[]; retry_at: string | null; dropped?: true } | null;
  rules: Rule[];
}

/** Whether each channel may be used for the player, and if not, by which rule and record. */
export async function verdictsSection(desk: Desk, playerId: string): Promise<Html> {
  const channels = [...CHANNELS, "inbox"];
  const verdicts = await Promise.all(
    channels.map((channel) => desk.run<Verdict>("explain_eligibility", { playerId, channel })),
  );
  const rows = verdicts.map(rowOf(desk.property.timezone));
  return html`<h2>${say().players.mayWeContactThisPlayer}</h2><p class="soft">${say().players.verdictOf(term("gate"))}</p>${tableOf(say().players.verdictsByChannel, [say().general.channel, say().players.verdict, say().general.why], rows, html``)}`;
}

function rowOf(timezone: string) {
  return ({ channel, allowed, defer, rules }: Verdict): Html => {
    const bars = rules.filter(({ result }) => result === "blocks");
    const until = defer?.retry_at ? html` ${say().general.untilThat(timeOf(defer.retry_at, timezone))}` : "";
    const delays = defer?.dropped ? say().players.messageIsDropped : say().players.messageWaits;
    const waits =
      allowed && defer
        ? html`<p>${delays(until, defer.reasons.map((one) => labelOf(one)).join(", "))}</p>`
        : "";
    const verdict = allowed ? (defer ? "later" : "yes") : "no";
    return html`<tr><th scope="row">${words(channel)}</th><td>${chip(verdict)}</td><td>${bars.map((one) => html`<p>${speech().reasonOf(one.rule, channel) || inEnglish(one.meaning)}${one.records.map((record) => recordOf(record, timezone))}</p>`)}${waits}</td></tr>`;
  };
}

function recordOf({ table, id, what, since }: Rule["records"][number], timezone: string): Html {
  return html` <a href="/console/records/${table}/${id}">${what === null ? words(table) : labelOf(what)}${since ? html`, ${shown(since, timezone)}` : ""}</a>`;
}
