import { must } from "./calls.ts";
import { statsOf, statsProblems } from "./campaign.fault.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "./fault.ts";
import { openPlace } from "./place.ts";
import { badVendor } from "./vendor.ts";
import { openWorld } from "./world.ts";

const DONE_WITHIN = 240_000;
const PRELOAD = new URL("vendor-host.ts", import.meta.url).href;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    report("a vendor on a bad day", await badDay(long ? 1_500 : 400));
  }
};
export default fault;

/** 429 with Retry-After, 500 before and after it took a message, silence, and answers that are cut off. */
async function badDay(players: number): Promise<Outcome> {
  const vendor = await badVendor();
  const place = await openPlace({ NODE_OPTIONS: `--import=${PRELOAD}`, VENDOR_URL: vendor.url });
  const service = await place.service();
  const world = await openWorld(place.url());
  try {
    const allowed = await world.crowd(players);
    const provider = {
      channel: "email",
      kind: "resend",
      name: "resend",
      credentials: { api_key: "re_1" },
      allows_gaming: true,
    };
    await must(service, world.key, "POST", "/api/message_providers", { body: provider });
    const campaignId = await world.campaign();
    const body = { campaignId, propertyId: world.id };
    await must(service, world.key, "POST", "/api/functions/send-campaign", { body });
    const took = await until("the campaign's end", DONE_WITHIN, async () => {
      const [row] = await world.sql`select status from campaigns where id = ${campaignId}`;
      return row!.status !== "queued" && row!.status !== "sending";
    });
    const stats = await statsOf(place, world, campaignId);
    const accepted = vendor.accepted();
    const reached = new Set(accepted);
    const made = [...vendor.made].map(([what, times]) => `${times} ${what}`).join(", ");
    return {
      about: `${allowed.length} sent in ${seconds(took)}; ${made}`,
      ledger: {
        lost: allowed.filter((address) => !reached.has(address)).length,
        doubled: repeats(accepted),
        foreign: await world.foreign(),
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
    await world.close();
    await place.close();
    await vendor.stop();
  }
}
