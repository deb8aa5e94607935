import { bars, count, figures, sorted, table, text } from "./parts.js";

const STATES = ["pending", "sent", "delivered", "bounced", "failed", "unknown", "cancelled"];
const RESULTS = ["opens_unique", "opens_human", "clicks_unique", "clicks_human", "converted", "redeemed"];
const AGAINST = ["unsubscribed", "complained"];

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
  return `<h1>${count(stats.audience)} recipients, ${text(stats.status)}</h1>${bars("Recipients by state", states, stats.audience)}${bars("Left out, and why", skipped, sum)}<h2>What people did</h2>${figures(results)}${table("Links", ["Link", "Clicked", "By people"], links)}<p class="soft">Counted ${text(stats.as_of)}.</p>`;
}
