import { mailServer } from "../../support/servers/receivers.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";
import { cutCampaign, statsOf, statsProblems } from "./campaign.fault.ts";

/** The most messages that one process hands over at once: 8 on each of 5 connections. */
const IN_FLIGHT = 40;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const at = (round + 1) / (rounds + 1);
    report("kill -9 in a campaign by SMTP", await killedOnTheWay({ players: long ? 10_000 : 5_000, at }));
  }
};
export default fault;

/** A vendor that cannot recognize a repeated message: a message on its way is never repeated. */
async function killedOnTheWay({ players, at }: { players: number; at: number }): Promise<Outcome> {
  const vendor = await mailServer();
  const installation = await openInstallation({ EMAIL_PROVIDER: "smtp", SMTP_URL: vendor.url });
  await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const allowed = await scenario.crowd(players);
    const { campaignId, cut, resumed, took } = await cutCampaign(installation, scenario, {
      reached: () => vendor.mails.length >= allowed.length * at * 0.9,
    });
    const stats = await statsOf(installation, scenario, campaignId);
    const accepted = vendor.mails.map(({ to }) => to);
    const ids = vendor.mails.map(({ raw }) => /^Message-ID: (.+)$/im.exec(raw)?.[1] ?? "");
    const reached = new Set(accepted);
    const missing = allowed.filter((address) => !reached.has(address)).length;
    const known = await scenario.sql<{ id: string }[]>`
      select id from campaign_sends where campaign_id = ${campaignId} and status = 'unknown'`;
    const arrived = new Set(ids.map((id) => id.slice(1, 37)));
    const undecided = known.filter(({ id }) => !arrived.has(id)).length;
    return {
      about: `cut at ${cut} sent of ${allowed.length}, resumed ${seconds(resumed)} and done ${seconds(took)} after the restart; ${stats.unknown} unknown, of which ${undecided} had not arrived`,
      ledger: {
        lost: missing - undecided,
        doubled: repeats(accepted) + repeats(ids),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        ...statsProblems(stats, { players, allowed: allowed.length }),
        "it was over before it was killed": cut >= allowed.length,
        [`${stats.unknown} are unknown, and ${IN_FLIGHT} were in flight at most`]: stats.unknown > IN_FLIGHT,
        "somebody got one who may not": accepted.some((address) => !new Set(allowed).has(address)),
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
    await vendor.stop();
  }
}
