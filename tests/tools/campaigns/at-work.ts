import postgres from "postgres";
import { expect, vi } from "vitest";
import { startHouse, type Tenant } from "../../support/house.ts";
import { mailServer } from "../../support/receivers.ts";
import { casino } from "./casino.ts";

/** A call about a player, and performance.now() of its answer. */
interface Answered {
  email: string;
  status: number;
  at: number;
}

/** A house whose campaigns go to a mail server, which notes when each address last got a mail. */
export async function startAtWork() {
  const arrivals = new Map<string, number>();
  const mail = await mailServer(({ to }) => void arrivals.set(to, performance.now()));
  const house = await startHouse({
    email: { provider: "smtp", smtpUrl: mail.url, from: "promo@casino.example" },
  });
  const admin = postgres(house.database.url, { max: 1, onnotice: () => {} });
  return {
    house,
    admin,
    mails: mail.mails,
    /** A new property in the middle of a campaign to a thousand. */
    async midCampaign(): Promise<Tenant> {
      const tenant = await house.newTenant();
      const place = casino(house, tenant.id);
      await place.crowd(1000);
      await place.send(await place.campaign());
      await vi.waitFor(() => expect(mail.mails.length).toBeGreaterThan(30), 20_000);
      return tenant;
    },
    /** Asks about a player, and notes when it is answered. */
    async ask(path: string, { key }: Tenant, body: object, email: string): Promise<Answered> {
      const { status } = await house.post(path, body, { "X-Api-Key": key });
      return { email, status, at: performance.now() };
    },
    /** All were answered well, nobody got a mail after it, and not everybody got one before. */
    async expectNoneLate(answered: Answered[]): Promise<void> {
      await house.idle();
      expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
      expect(answered.filter(({ email, at }) => (arrivals.get(email) ?? 0) > at)).toEqual([]);
      expect(answered.filter(({ email }) => !arrivals.has(email)).length).toBeGreaterThan(0);
    },
    reached: (email: string) => arrivals.has(email),
    async stop(): Promise<void> {
      await admin.end();
      await house.stop();
      await mail.stop();
    },
  };
}

export type AtWork = Awaited<ReturnType<typeof startAtWork>>;
