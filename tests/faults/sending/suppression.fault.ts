import { mailServer } from "../../support/servers/receivers.ts";
import { send as ask, must } from "../support/calls.ts";
import { type Fault, fromBothEnds, type Outcome, problemsOf, repeats, until } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import type { ServiceProcess } from "../support/process.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

/** A message is handed over within a second of its check, and then has to travel. */
const TRAVELS_WITHIN = 2_000;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const extent = long ? { players: 10_000, barred: 1_000 } : { players: 4_000, barred: 200 };
    report("suppressed in the middle of a send", await barred({ ...extent, at: 2, bar: suppress }));
    // An erasure waits for what is on its way, so some are made at a time.
    report("erased in the middle of a send", await barred({ ...extent, at: 4, bar: erase }));
  }
};
export default fault;

type Bar = (service: ServiceProcess, scenario: Scenario, address: string) => Promise<unknown>;

const suppress: Bar = (service, { key }, address) => {
  const body = { channel: "email", address, reason: "manual" };
  return must(service, key, "POST", "/api/suppressions", { body });
};

const erase: Bar = async (service, { sql, id, key }, address) => {
  const [player] = await sql<{ id: string }[]>`
    select id from players where property_id = ${id} and email = ${address}`;
  const body = { propertyId: id, playerId: player!.id };
  for (;;) {
    const { status, body: answer } = await ask(service, key, "POST", "/api/functions/data-deletion", {
      body,
    });
    if (status === 200) return;
    if (status !== 503) throw new Error(`an erasure: ${status} ${JSON.stringify(answer)}`);
  }
};

/** Bars recipients while a campaign is on its way to them, so many `at` once. */
async function barred(extent: { players: number; barred: number; at: number; bar: Bar }): Promise<Outcome> {
  const arrivals = new Map<string, number>();
  const vendor = await mailServer(({ to }) => arrivals.set(to, Date.now()));
  const installation = await openInstallation({ EMAIL_PROVIDER: "smtp", SMTP_URL: vendor.url });
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const allowed = await scenario.crowd(extent.players);
    const campaignId = await scenario.campaign();
    const send = { campaignId, propertyId: scenario.id };
    await must(service, scenario.key, "POST", "/api/functions/send-campaign", { body: send });
    await until("the first messages", 60_000, () => arrivals.size > allowed.length / 20);
    // Spread over those who are sent to next and those at the end.
    const step = Math.floor(allowed.length / extent.barred);
    const chosen = allowed.filter((_, index) => index % step === 0).slice(0, extent.barred);
    // Once a player is erased, a send tells of nobody.
    const sends = await scenario.sql<{ id: string; email: string }[]>`
      select s.id, p.email from campaign_sends s join players p on p.property_id = s.property_id and p.id = s.player_id
      where s.campaign_id = ${campaignId} and s.status <> 'skipped'`;
    const emails = new Map(sends.map(({ id, email }) => [id, email]));
    const answers = new Map<string, number>();
    const [next, last] = fromBothEnds(chosen);
    const barring = async (waiting: string[]) => {
      for (let address = waiting.shift(); address; address = waiting.shift()) {
        await extent.bar(service, scenario, address);
        answers.set(address, Date.now());
      }
    };
    await Promise.all(Array.from({ length: extent.at }, (_, n) => barring(n % 2 === 0 ? next : last)));
    const status = async () =>
      (await scenario.sql<{ status: string }[]>`select status from campaigns where id = ${campaignId}`)[0]
        ?.status;
    await until("the campaign's end", 120_000, async () => (await status()) === "sent");
    const claims = await scenario.sql<{ id: string; at: number }[]>`
      select id, extract(epoch from claimed_at)::float8 * 1000 as at from campaign_sends
      where campaign_id = ${campaignId} and status <> 'skipped' and claimed_at is not null`;
    const after = claims.filter(
      ({ id, at }) => at > (answers.get(emails.get(id) ?? "") ?? Number.POSITIVE_INFINITY),
    );
    const delays = chosen.map((address) => (arrivals.get(address) ?? 0) - answers.get(address)!);
    const latest = Math.max(...delays);
    const spared = chosen.filter((address) => !arrivals.has(address)).length;
    const accepted = vendor.mails.map(({ to }) => to);
    return {
      about: `${spared} of ${chosen.length} spared, ${chosen.length - spared} had been claimed before; the last arrival ${latest > 0 ? `${latest} ms after` : `${-latest} ms before`} its answer`,
      ledger: {
        lost: allowed.filter((address) => !answers.has(address) && !arrivals.has(address)).length,
        doubled: repeats(accepted),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`${after.length} were claimed after the answer`]: after.length > 0,
        [`one arrived ${latest} ms after the answer`]: latest > TRAVELS_WITHIN,
        "nobody was spared: the send was over": spared === 0,
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
    await vendor.stop();
  }
}
