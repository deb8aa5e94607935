import { bars, count, figures, money, sorted, table, text } from "./parts.js";

const STATES = ["pending", "sent", "delivered", "bounced", "failed", "unknown", "cancelled"];
const RESULTS = ["opens_unique", "opens_human", "clicks_unique", "clicks_human", "converted", "redeemed"];
const AGAINST = ["unsubscribed", "complained"];

const OF_CALLS = ["placed", "answered", "voicemail", "opted_out", "minutes"];

/** The figures of calls, real and simulated ones apart. */
function calls({ simulated, abandoned_share: law, cost, cost_currency: currency, ...real }) {
  const counted = (some) => OF_CALLS.map((name) => [name, count(some[name])]);
  const share = law.percent === null ? "none" : `${law.percent.toFixed(1)} %`;
  const price = cost === null ? null : { amount: cost, currency: currency ?? "in several currencies" };
  const played =
    simulated.placed > 0 ? `<h2>Simulated calls: nobody was called</h2>${figures(counted(simulated))}` : "";
  const all = [
    ...counted(real),
    [`abandoned_in_${law.days}_days`, share],
    ["cost", money(price ?? { amount: null })],
  ];
  return `<h2>Calls</h2>${figures(all)}${played}`;
}

/** The answer of campaign_stats. */
export function render(stats) {
  const skipped = sorted(stats.skipped);
  const sum = skipped.reduce((total, [, value]) => total + value, 0);
  const states = [["skipped", sum], ...STATES.map((state) => [state, stats[state]])];
  const results = [...RESULTS, ...AGAINST].map((name) => [name, count(stats[name])]);
  const links = (stats.by_link ?? []).map(({ url, clicks_unique, clicks_human }) => [
    text(url),
    count(clicks_unique),
    count(clicks_human),
  ]);
  const done = stats.calls
    ? calls(stats.calls)
    : `<h2>What people did</h2>${figures(results)}${table("Links", ["Link", "Clicked", "By people"], links)}`;
  return `<h1>${count(stats.audience)} recipients, ${text(stats.status)}</h1>${bars("Recipients by state", states, stats.audience)}${bars("Left out, and why", skipped, sum)}${done}<p class="soft">Counted ${text(stats.as_of)}.</p>`;
}
