import { addressHash } from "#tools/people/address.ts";
import { runNext, type WorkOptions } from "./job-runner.ts";
import type { TestService } from "./service.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Answer = any;

/** More than any test has. Work that goes on for ever fails a test, instead of keeping it from ending. */
const MOST_JOBS = 1_000;
const LARGE_CROWD = 1_000;

/** A property of its own on a service, and short calls for what tests do in it. */
export async function newScenario(service: TestService, settings: object = {}): Promise<Scenario> {
  return scenarioIn(service, (await service.newProperty(settings)).id);
}

/** The same in a property that there is. */
export function scenarioIn(service: TestService, propertyId = service.tenant.id) {
  const { db } = service.database;
  const call = (operation: string, input: object): Promise<Answer> =>
    service.call(operation, input, propertyId);
  const about = (campaignId: string) => ({ campaignId, propertyId });

  const scenario = {
    /** The property. */
    id: propertyId,
    call,
    /** A player who may be sent to, unless `consent` is false. */
    async player(fields: { email: string } & Record<string, unknown>, consent = true): Promise<string> {
      const { id } = await call("create_player", fields);
      if (consent) {
        await call("consent_record", {
          propertyId,
          playerId: id,
          channel: "email",
          consentGiven: true,
          consentSource: "desk",
          consentVersion: "1",
          occurredAt: new Date().toISOString(),
        });
      }
      return id;
    },
    /** Many players who may be sent to, at once: p1@example.com and so on. */
    async crowd(count: number, prefix = "p"): Promise<void> {
      const property = await service.internals.directory.property(propertyId);
      const rows = Array.from({ length: count }, (_, index) => {
        const email = `${prefix}${index + 1}@example.com`;
        return {
          player_id: `${prefix}-${index + 1}`,
          email,
          hash: addressHash(property!.pepper, email).toString("hex"),
        };
      });
      await db.asProperty(propertyId, async (sql) => {
        await sql`
          insert into players (property_id, player_id, email, email_hash, first_name, consents)
          select ${propertyId}, player_id, email, decode(hash, 'hex'), 'Ana', '{"email": true}'
          from jsonb_to_recordset(${rows as never}::jsonb) as r(player_id text, email text, hash text) returning 1`;
        // As an import does. Otherwise a connection's checks of foreign keys keep their plan for a few players.
        if (count >= LARGE_CROWD) {
          await sql`select analyze_players() from players
            where property_id = ${propertyId} and player_id = ${`${prefix}-1`}`;
        }
      });
    },
    campaign: async (fields: Record<string, unknown> = {}): Promise<string> => {
      const { id } = await call("create_campaign", {
        name: "Weekend",
        audience: "all",
        subject: 'Hello {{ first_name | default: "friend" }}',
        body_html: "<p>Double points this weekend.</p>",
        ...fields,
      });
      return id;
    },
    get: (id: string) => call("get_campaign", { id }),
    send: (id: string) => call("send_campaign", about(id)),
    pause: (id: string) => call("pause_campaign", about(id)),
    resume: (id: string) => call("resume_campaign", about(id)),
    cancel: (id: string) => call("cancel_campaign", about(id)),
    stats: (id: string) => call("campaign_stats", about(id)),
    preflight: (id: string) => call("preflight_campaign", about(id)),
    /** Statements behind the service's back, as the tenant. */
    query: <T>(work: Parameters<typeof db.asProperty<T>>[1]) => db.asProperty(propertyId, work),
    async mailbox(): Promise<
      {
        id: string;
        recipient: string;
        subject: string;
        html: string;
        text: string;
        headers: Record<string, string>;
      }[]
    > {
      return db.asProperty(
        propertyId,
        (sql) => sql`
        select id, recipient, subject, html, text, headers from mailbox_messages
        where property_id = ${propertyId} order by recipient`,
      ) as never;
    },
    /** The sends of a campaign by the players' player_id. */
    async sends(
      id: string,
    ): Promise<
      { id: string; player: string; status: string; skip_reasons: string[]; error_code: string | null }[]
    > {
      return db.asProperty(
        propertyId,
        (sql) => sql`
        select s.id, p.player_id as player, s.status, s.skip_reasons, s.error_code from campaign_sends s
        left join players p on p.property_id = ${propertyId} and p.id = s.player_id
        where s.property_id = ${propertyId} and s.campaign_id = ${id} order by p.player_id`,
      ) as never;
    },
    /** Runs the queue's jobs here, one after another, until none is due; for a service without a worker. */
    async work(options: WorkOptions = {}): Promise<void> {
      for (let jobs = 0; await runNext(service, propertyId, options); jobs += 1) {
        if (jobs === MOST_JOBS) throw new Error(`after ${MOST_JOBS} jobs there is always one more due`);
      }
    },
    /** A planned campaign to so many players more; deliver_campaign waits on the queue. */
    async planned(players: number, fields: Record<string, unknown> = {}): Promise<string> {
      await scenario.crowd(players);
      const id = await scenario.campaign(fields);
      await scenario.send(id);
      await scenario.work({ only: "plan_campaign" });
      return id;
    },
    /** The time of a scheduled campaign has come. */
    async comeDue(campaignId: string): Promise<void> {
      await db.asProperty(
        propertyId,
        (sql) => sql`
          update campaigns set scheduled_at = now(), fires_at = least(fires_at, now())
          where property_id = ${propertyId} and id = ${campaignId}`,
      );
      await db.asSystem(
        (sql) => sql`
          update queue set run_at = now() where name = 'fire_campaign' and input ->> 'campaignId' = ${campaignId}`,
      );
      service.internals.wake();
    },
    /** How many sends of a campaign there are in each status. */
    async tally(id: string): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const { status } of await scenario.sends(id)) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    },
  };
  return scenario;
}

export type Scenario = ReturnType<typeof scenarioIn>;
