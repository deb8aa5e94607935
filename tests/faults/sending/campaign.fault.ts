import { must } from "../support/calls.ts";
import { COUNTING, type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { type Installation, openInstallation } from "../support/installation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const RESUMES_WITHIN = 60_000;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const installation = await openInstallation();
    try {
      const at = (round + 1) / (rounds + 1);
      report(
        "kill -9 in a campaign to the mailbox",
        await killedCampaign(installation, { players: long ? 10_000 : 5_000, at }),
      );
    } finally {
      await installation.close();
    }
  }
};
export default fault;

/** Sends a campaign to the mailbox, and kills the service when that share of it is kept. */
export async function killedCampaign(
  installation: Installation,
  { players, at }: { players: number; at: number },
): Promise<Outcome> {
  await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const allowed = await scenario.crowd(players);
    const { campaignId, cut, resumed, took } = await cutCampaign(installation, scenario, {
      reached: async () => (await recipients(scenario)).length >= allowed.length * at * 0.9,
    });
    const kept = await recipients(scenario);
    const stats = await statsOf(installation, scenario, campaignId);
    return {
      about: `cut at ${cut} sent of ${allowed.length}, resumed ${seconds(resumed)} and done ${seconds(took)} after the restart`,
      ledger: {
        lost: allowed.filter((address) => !new Set(kept).has(address)).length,
        doubled: repeats(kept),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        ...statsProblems(stats, { players, allowed: allowed.length }),
        "it was over before it was killed": cut >= allowed.length,
        [`${stats.sent} are said to be sent`]: stats.sent !== allowed.length,
        [`resumed after ${seconds(resumed)}`]: resumed > RESUMES_WITHIN,
        "somebody got one who may not": kept.some((address) => !new Set(allowed).has(address)),
      }),
    };
  } finally {
    await scenario.close();
  }
}

/** Sends a campaign, kills the service once `reached`, starts it again, and waits for the end. */
export async function cutCampaign(
  installation: Installation,
  scenario: Scenario,
  { reached }: { reached(): Promise<boolean> | boolean },
): Promise<{ campaignId: string; cut: number; resumed: number; took: number }> {
  const campaignId = await scenario.campaign();
  const body = { campaignId, propertyId: scenario.id };
  await must(await installation.service(), scenario.key, "POST", "/api/functions/send-campaign", { body });
  await until("the campaign's progress", 60_000, reached, COUNTING);
  await installation.kill();
  const cut = await sentOf(scenario, campaignId);
  await installation.service();
  const resumed = await until(
    "the campaign's resumption",
    120_000,
    async () =>
      (await sentOf(scenario, campaignId)) > cut || (await statusOf(scenario, campaignId)) === "sent",
    COUNTING,
  );
  const rest = await until(
    "the campaign's end",
    120_000,
    async () => (await statusOf(scenario, campaignId)) !== "sending",
    COUNTING,
  );
  return { campaignId, cut, resumed, took: resumed + rest };
}

export async function statsOf(
  installation: Pick<Installation, "service">,
  scenario: Scenario,
  campaignId: string,
) {
  const body = { campaignId, propertyId: scenario.id };
  return (
    await must(await installation.service(), scenario.key, "POST", "/api/functions/campaign-stats", { body })
  ).body;
}

/** The sums of a finished campaign, the same for every way of sending. */
export function statsProblems(
  // biome-ignore lint/suspicious/noExplicitAny: a fault reads what it expects
  stats: any,
  { players, allowed }: { players: number; allowed: number },
): Record<string, boolean> {
  const skipped = Object.values(stats.skipped as Record<string, number>).reduce((sum, n) => sum + n, 0);
  const sum =
    skipped + stats.pending + stats.sent + stats.delivered + stats.bounced + stats.failed + stats.unknown;
  return {
    [`the campaign is ${stats.status}`]: stats.status !== "sent",
    [`the audience is ${stats.audience}, its parts ${sum}, the players ${players}`]:
      stats.audience !== players || sum + stats.cancelled !== players,
    [`${skipped} are skipped`]: skipped !== players - allowed,
    [`${stats.pending} are pending`]: stats.pending !== 0,
  };
}

async function recipients({ sql, id }: Scenario): Promise<string[]> {
  const rows = await sql<{ recipient: string }[]>`
    select recipient from mailbox_messages where property_id = ${id}`;
  return rows.map(({ recipient }) => recipient);
}

export async function statusOf({ sql }: Scenario, campaignId: string): Promise<string> {
  const [row] = await sql<{ status: string }[]>`select status from campaigns where id = ${campaignId}`;
  return row!.status;
}

export async function sentOf({ sql }: Scenario, campaignId: string): Promise<number> {
  const [row] = await sql<{ sent: number }[]>`
    select count(*)::int as sent from campaign_sends where campaign_id = ${campaignId} and status = 'sent'`;
  return row!.sent;
}
