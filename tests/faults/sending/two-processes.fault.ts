import { mailServer, webhookReceiver } from "../../support/servers/receivers.ts";
import { must } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, until } from "../support/fault.ts";
import { openPair } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";
import { statsOf, statsProblems } from "./campaign.fault.ts";
import { isValid, open, playersOf } from "./webhooks.fault.ts";

const fault: Fault = async (report, { rounds, long }) => {
  const extent = { players: long ? 10_000 : 2_000, events: 1_000, campaigns: long ? 50 : 10 };
  for (let round = 0; round < rounds; round++) {
    report("two processes, one queue", await oneWinnerEach(extent));
  }
};
export default fault;

/** A campaign, events and due campaigns over two processes: without a fault each is done exactly once. */
async function oneWinnerEach(extent: {
  players: number;
  events: number;
  campaigns: number;
}): Promise<Outcome> {
  const vendor = await mailServer();
  const receiver = await webhookReceiver();
  const pair = await openPair({ EMAIL_PROVIDER: "smtp", SMTP_URL: vendor.url });
  const scenario = await openScenario(pair.url);
  const { first, second } = pair;
  try {
    const allowed = await scenario.crowd(extent.players);
    const { secret } = await scenario.endpoint(receiver.url);
    const big = await scenario.campaign();
    await dueCampaigns(allowed[0]!);
    const send = { campaignId: big, propertyId: scenario.id };
    await Promise.all([
      must(first, scenario.key, "POST", "/api/functions/send-campaign", { body: send }),
      must(second, scenario.key, "POST", "/api/import_jobs", {
        body: { type: "player_import", rows: playersOf(extent.events) },
      }),
    ]);
    const unfinished = async () => {
      const [row] = await scenario.sql<{ left: number }[]>`
        select count(*)::int as left from campaigns where property_id = ${scenario.id} and status <> 'sent'`;
      return row!.left + (await open(scenario));
    };
    await until("the end of all", 120_000, async () => (await unfinished()) === 0);
    const stats = await statsOf({ service: async () => first }, scenario, big);
    const mails = vendor.mails.map(({ to, raw }) => `${to} ${/^Subject: (.+)$/im.exec(raw)?.[1]}`);
    const ids = receiver.received.map(({ headers }) => String(headers["webhook-id"]));
    const [stored] = await scenario.sql<{ events: number }[]>`
      select count(*)::int as events from outbox where property_id = ${scenario.id}`;
    const intended = allowed.length + extent.campaigns;
    return {
      about: `${mails.length} messages of ${extent.campaigns + 1} campaigns, ${ids.length} callbacks`,
      ledger: {
        lost: intended - new Set(mails).size + (stored!.events - new Set(ids).size),
        doubled: repeats(mails) + repeats(ids),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        ...statsProblems(stats, { players: extent.players, allowed: allowed.length }),
        "a signature is not valid": receiver.received.some((callback) => !isValid(callback, secret)),
      }),
    };
  } finally {
    await scenario.close();
    await pair.close();
    await Promise.all([vendor.stop(), receiver.stop()]);
  }

  /** Each to one player alone, all due in the same second. */
  async function dueCampaigns(address: string): Promise<void> {
    const conditions = [{ field: "email", operator: "eq", value: address }];
    const segment = await must(first, scenario.key, "POST", "/api/segments", {
      body: { name: "One", conditions },
    });
    const scheduledAt = new Date(Date.now() + 100 * extent.campaigns + 2_000).toISOString();
    for (let n = 1; n <= extent.campaigns; n++) {
      const content = { name: `Due ${n}`, audience: "all", subject: `Due ${n}`, body_html: "<p>Now.</p>" };
      const { body } = await must(first, scenario.key, "POST", "/api/campaigns", { body: content });
      await must(first, scenario.key, "POST", "/api/functions/schedule-campaign", {
        body: { campaignId: body.id, scheduledAt, segmentId: segment.body.id },
      });
    }
  }
}
