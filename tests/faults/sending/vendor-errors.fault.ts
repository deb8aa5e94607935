import { must } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";
import { badVendor } from "../support/vendor.ts";
import { statsOf, statsProblems } from "./campaign.fault.ts";

const DONE_WITHIN = 240_000;
const PRELOAD = new URL("../support/vendor-host.ts", import.meta.url).href;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    report("a vendor on a bad day", await badDay(long ? 1_500 : 400));
  }
};
export default fault;

/** 429 with Retry-After, 500 before and after it took a message, silence, and answers that are cut off. */
async function badDay(players: number): Promise<Outcome> {
  const vendor = await badVendor();
  const installation = await openInstallation({
    NODE_OPTIONS: `--import=${PRELOAD}`,
    VENDOR_URL: vendor.url,
  });
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const allowed = await scenario.crowd(players);
    const provider = {
      channel: "email",
      kind: "resend",
      name: "resend",
      credentials: { api_key: "re_1" },
      allows_gaming: true,
    };
    await must(service, scenario.key, "POST", "/api/message_providers", { body: provider });
    const campaignId = await scenario.campaign();
    const body = { campaignId, propertyId: scenario.id };
    await must(service, scenario.key, "POST", "/api/functions/send-campaign", { body });
    const took = await until("the campaign's end", DONE_WITHIN, async () => {
      const [row] = await scenario.sql`select status from campaigns where id = ${campaignId}`;
      return row!.status !== "queued" && row!.status !== "sending";
    });
    const stats = await statsOf(installation, scenario, campaignId);
    const accepted = vendor.accepted();
    const reached = new Set(accepted);
    const made = [...vendor.made].map(([what, times]) => `${times} ${what}`).join(", ");
    return {
      about: `${allowed.length} sent in ${seconds(took)}; ${made}`,
      ledger: {
        lost: allowed.filter((address) => !reached.has(address)).length,
        doubled: repeats(accepted),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        ...statsProblems(stats, { players, allowed: allowed.length }),
        [`${stats.sent} are said to be sent`]: stats.sent !== allowed.length,
        [`${vendor.early()} came back before they were told to`]: vendor.early() > 0,
        "not every trouble was made": vendor.made.size !== 6,
        "somebody got one who may not": accepted.some((address) => !new Set(allowed).has(address)),
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
    await vendor.stop();
  }
}
