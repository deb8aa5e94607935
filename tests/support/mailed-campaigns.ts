import { setTimeout } from "node:timers/promises";
import postgres from "postgres";
import { expect, vi } from "vitest";
import { scenarioIn } from "./scenario.ts";
import { mailServer } from "./servers/receivers.ts";
import { startService, type Tenant } from "./service.ts";

/** A call about a player, and performance.now() of its answer. */
interface Answered {
  email: string;
  status: number;
  at: number;
}

interface Recipient {
  id: string;
  email: string;
}

const CROWD = 160;
/** Of the mail server for a mail. The campaign waits for it, and lasts longer than some requests. */
const PACE = 120;

/** A service whose campaigns go to a slow mail server, which notes when each address last got a mail. */
export async function startMailedCampaigns() {
  const arrivals = new Map<string, number>();
  const mail = await mailServer(({ to }) => {
    arrivals.set(to, performance.now());
    return setTimeout(PACE);
  });
  const service = await startService({
    email: { provider: "smtp", smtpUrl: mail.url, from: "promo@casino.example" },
  });
  const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  return {
    service,
    admin,
    mails: mail.mails,
    /** A new property in the middle of a campaign to many. */
    async midSending(): Promise<Tenant> {
      const tenant = await service.newTenant();
      const scenario = scenarioIn(service, tenant.id);
      await scenario.crowd(CROWD);
      await scenario.send(await scenario.campaign());
      await vi.waitFor(() => expect(mail.mails.length).toBeGreaterThan(30), 20_000);
      return tenant;
    },
    /** Asks about a player, and notes when it is answered. */
    async ask(path: string, { key }: Tenant, body: object, email: string): Promise<Answered> {
      const { status } = await service.post(path, body, { "X-Api-Key": key });
      return { email, status, at: performance.now() };
    },
    /** All were answered well, nobody got a mail after it, and not everybody got one before. */
    async expectNoneLate(answered: Answered[]): Promise<void> {
      await service.idle();
      expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
      expect(answered.filter(({ email, at }) => (arrivals.get(email) ?? 0) > at)).toEqual([]);
      expect(answered.filter(({ email }) => !arrivals.has(email)).length).toBeGreaterThan(0);
    },
    reached: (email: string) => arrivals.has(email),
    /** The last of the players whose message is claimed and has not come yet, beside those who are named. */
    async claimed({ id }: Tenant, besides: ReadonlySet<string>): Promise<Recipient | undefined> {
      const rows = await admin<Recipient[]>`
        select p.id, p.email from campaign_sends s
          join players p on p.property_id = s.property_id and p.id = s.player_id
        where s.property_id = ${id} and s.status = 'sending' order by s.id desc`;
      return rows.find(({ email }) => !besides.has(email) && !arrivals.has(email));
    },
    async stop(): Promise<void> {
      await admin.end();
      await service.stop();
      await mail.stop();
    },
  };
}

export type MailedCampaigns = Awaited<ReturnType<typeof startMailedCampaigns>>;
