import { afterAll, beforeAll, beforeEach } from "vitest";
import { identifier } from "#db/sql.ts";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import { newScenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

export const VARIANTS = [
  { id: "a", name: "Calm", subject: "Offer A" },
  { id: "b", name: "Loud", subject: "Offer B" },
];
export const TEST = {
  variants: VARIANTS,
  test_percent: 50,
  metric: "open",
  duration_minutes: 60,
  min_sample: 5,
};

/** Of so many, chance draws each variant for more than `min_sample`, and about half for the test. */
export const MANY = 110;

interface Send {
  id: string;
  email: string;
  status: string;
  variant_id: string | null;
  skip_reasons: string[];
  wait: number | null;
}

/**
 * A property of its own for each test of a file, in a service without a worker: the tests run its jobs, and stop them
 * where they want.
 */
export function eachInOwnProperty(begin: (own: VariantScenario, service: TestService) => void): void {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ role: "web" });
  });
  afterAll(() => service?.stop());
  beforeEach(async () => begin(await newVariantScenario(service), service));
}

/** A property of its own, and short calls for what tests of variants do in it. */
async function newVariantScenario(service: TestService) {
  const scenario = await newScenario(service);
  const { id: propertyId } = scenario;
  const dueNow = () =>
    service.internals.db.asSystem(
      (sql) => sql`update queue set run_at = now() where property_id = ${propertyId}`,
    );
  const sends = (id: string) =>
    scenario.query(
      (sql) => sql<Send[]>`
        select s.id, p.email, s.status, s.variant_id, s.skip_reasons,
          extract(epoch from s.scheduled_for - now())::double precision as wait
        from campaign_sends s join players p on p.property_id = ${propertyId} and p.id = s.player_id
        where s.property_id = ${propertyId} and s.campaign_id = ${id} order by p.email`,
    );
  return {
    ...scenario,
    sends,
    dueNow,
    /** A planned campaign to so many players; deliver_campaign waits on the queue. */
    async planned(players: number, test: object = {}, fields: object = {}): Promise<string> {
      await scenario.crowd(players);
      const id = await scenario.campaign({ ab_test: { ...TEST, ...test }, ...fields });
      await scenario.send(id);
      await scenario.work({ only: "plan_campaign" });
      return id;
    },
    /** The variants of those who have one, by their address. */
    async drawn(id: string): Promise<Map<string, string | null>> {
      const given = (await sends(id)).filter(({ variant_id }) => variant_id !== null);
      return new Map(given.map(({ email, variant_id }) => [email, variant_id]));
    },
    /** The time of the test is over, and every job that waits is due. */
    async timePasses(id: string): Promise<void> {
      await scenario.query(
        (sql) =>
          sql`update campaigns set ab_ends_at = now() where property_id = ${propertyId} and id = ${id}`,
      );
      await dueNow();
    },
    /** Has this number of a variant's recipients open their message: by a person, or as `column` says. */
    engage: (id: string, variant: string, count: number, column = "first_human_open_at") =>
      scenario.query(
        (sql) => sql`
          update campaign_sends set ${identifier(column)} = now() where property_id = ${propertyId} and id in (
            select id from campaign_sends where property_id = ${propertyId} and campaign_id = ${id}
              and variant_id = ${variant} and status = 'sent' order by id limit ${count})`,
      ),
    listen: () =>
      scenario.call("create_webhook_endpoint", {
        url: "https://crm.example.com/hooks",
        events: ["campaign.winner_selected"],
      }),
    winners: () =>
      scenario.query(
        (sql) =>
          sql`select data from outbox where property_id = ${propertyId} and type = 'campaign.winner_selected'`,
      ),
  };
}

export type VariantScenario = Awaited<ReturnType<typeof newVariantScenario>>;

/** How many messages went to somebody who had one. */
export const repeats = (given: EmailMessage[]) => given.length - new Set(given.map(({ to }) => to)).size;
/** The variant that a message shows. */
export const letter = ({ subject }: EmailMessage) => subject.replace("Offer ", "").toLowerCase();
