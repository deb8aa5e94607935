import { mailServer } from "../support/receivers.ts";
import { must } from "./calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, until } from "./fault.ts";
import { openPlace } from "./place.ts";
import { openWorld } from "./world.ts";

/** A message is handed over within a second of its check, and then has to travel. */
const TRAVELS_WITHIN = 2_000;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const extent = long ? { players: 10_000, suppressed: 1_000 } : { players: 4_000, suppressed: 200 };
    report("suppressed in the middle of a send", await suppressed(extent));
  }
};
export default fault;

/** Suppresses recipients while a campaign is on its way to them. */
async function suppressed(extent: { players: number; suppressed: number }): Promise<Outcome> {
  const arrivals = new Map<string, number>();
  const vendor = await mailServer(({ to }) => arrivals.set(to, Date.now()));
  const place = await openPlace({ EMAIL_PROVIDER: "smtp", SMTP_URL: vendor.url });
  const service = await place.service();
  const world = await openWorld(place.url());
  try {
    const allowed = await world.crowd(extent.players);
    const campaignId = await world.campaign();
    const send = { campaignId, propertyId: world.id };
    await must(service, world.key, "POST", "/api/functions/send-campaign", { body: send });
    await until("the first messages", 60_000, () => arrivals.size > allowed.length / 20);
    // Spread over those who are sent to next and those at the end.
    const step = Math.floor(allowed.length / extent.suppressed);
    const chosen = allowed.filter((_, index) => index % step === 0).slice(0, extent.suppressed);
    const answers = new Map<string, number>();
    for (const address of chosen) {
      const body = { channel: "email", address, reason: "manual" };
      await must(service, world.key, "POST", "/api/suppressions", { body });
      answers.set(address, Date.now());
    }
    const status = async () =>
      (await world.sql<{ status: string }[]>`select status from campaigns where id = ${campaignId}`)[0]
        ?.status;
    await until("the campaign's end", 120_000, async () => (await status()) === "sent");
    const claims = await world.sql<{ email: string; at: number; status: string }[]>`
      select p.email, s.status, extract(epoch from s.claimed_at)::float8 * 1000 as at
      from campaign_sends s join players p on p.property_id = s.property_id and p.id = s.player_id
      where s.campaign_id = ${campaignId} and s.status <> 'skipped'`;
    const after = claims.filter(({ email, at }) => at > (answers.get(email) ?? Number.POSITIVE_INFINITY));
    const delays = chosen.map((address) => (arrivals.get(address) ?? 0) - answers.get(address)!);
    const latest = Math.max(...delays);
    const spared = chosen.filter((address) => !arrivals.has(address)).length;
    const accepted = vendor.mails.map(({ to }) => to);
    return {
      about: `${spared} of ${chosen.length} spared, ${chosen.length - spared} had been claimed before; the last arrival ${latest > 0 ? `${latest} ms after` : `${-latest} ms before`} its suppression's answer`,
      ledger: {
        lost: allowed.filter((address) => !answers.has(address) && !arrivals.has(address)).length,
        doubled: repeats(accepted),
        foreign: await world.foreign(),
      },
      problems: problemsOf({
        [`${after.length} were claimed after the answer`]: after.length > 0,
        [`one arrived ${latest} ms after the answer`]: latest > TRAVELS_WITHIN,
        "nobody was spared: the send was over": spared === 0,
      }),
    };
  } finally {
    await world.close();
    await place.close();
    await vendor.stop();
  }
}
