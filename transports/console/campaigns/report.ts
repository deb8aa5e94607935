import { html } from "hono/html";
import type { AbTest } from "#tools/campaigns/campaign/ab-test.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { readerOf } from "#transports/console/reader.ts";
import { render, type Stats } from "#transports/console/views/campaign_stats.js";
import type { Html } from "#transports/pages/frame/page.ts";
import { abTestSentence } from "./ab-test.ts";

/** Where a campaign's recipients stand, why some were left out, and what the others did. */
export function reportOf(desk: Desk, campaign: Row, stats: Stats): Html {
  const test = campaign.ab_test as AbTest | null;
  const named = (test?.variants ?? []).map(({ id, name }) => [id, name || id]);
  return html`${stats.audience > 0 ? abTestSentence(desk, campaign) : ""}${render(stats, readerOf(desk), Object.fromEntries(named))}`;
}
