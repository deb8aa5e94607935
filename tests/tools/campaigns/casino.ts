import { randomUUID } from "node:crypto";
import { type EmailMessage, each, type Keep, type SendOutcome } from "#runtime/channels/channel.ts";
import type { ChosenProvider, Sender } from "#runtime/channels/index.ts";
import type { Job, JobContext, JobRuntime } from "#runtime/operation.ts";
import { jobContexts } from "#runtime/worker-context.ts";
import { CATALOG } from "#tools/catalog.ts";
import { addressHash } from "#tools/players/address.ts";
import type { House } from "../../support/house.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Answer = any;

/** Short words for what campaign tests do in one property of a house. */
export function casino(house: House, propertyId = house.tenant.id) {
  const { db } = house.service;
  const call = (operation: string, input: object): Promise<Answer> =>
    house.call(operation, input, propertyId);
  const about = (campaignId: string) => ({ campaignId, propertyId });

  const place = {
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
        });
      }
      return id;
    },
    /** Many players who may be sent to, at once: p1@example.com and so on. */
    async crowd(count: number, prefix = "p"): Promise<void> {
      const property = await house.service.directory.property(propertyId);
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
          from jsonb_to_recordset(${rows as never}::jsonb) as r(player_id text, email text, hash text)`;
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
    /** The sends of a campaign by player_id of the casino. */
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
    /** Runs the queue's jobs here, one after another, until none is due; for a house without a worker. */
    async work(options: WorkOptions = {}): Promise<void> {
      while (await runNext(house, propertyId, options)) {}
    },
    /** A planned campaign to so many players more; deliver_campaign waits on the queue. */
    async planned(players: number, fields: Record<string, unknown> = {}): Promise<string> {
      await place.crowd(players);
      const id = await place.campaign(fields);
      await place.send(id);
      await place.work({ only: "plan_campaign" });
      return id;
    },
    /** How many sends of a campaign there are in each status. */
    async tally(id: string): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const { status } of await place.sends(id)) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    },
  };
  return place;
}

export type Casino = ReturnType<typeof casino>;

/** A vendor that answers as told, and remembers what it was given. */
export function vendor(
  options: {
    repeatable?: boolean;
    concurrency?: number;
    answer?: (message: EmailMessage) => SendOutcome | Promise<SendOutcome>;
  } = {},
) {
  const given: EmailMessage[] = [];
  const answer =
    options.answer ??
    ((message: EmailMessage): SendOutcome => ({
      id: message.id,
      status: "sent",
      providerMessageId: message.id,
    }));
  const sender: Sender<"email"> = {
    repeatable: options.repeatable ?? false,
    concurrency: options.concurrency ?? 10,
    send: (messages, sending) => {
      given.push(...messages);
      return each(messages, sending, async (message) => answer(message));
    },
  };
  return { sender, given };
}

export interface WorkOptions {
  open?(keep: Keep, chosen: Pick<ChosenProvider, "name" | "settings">): Sender<"email">;
  /** Only jobs of this name. */
  only?: string;
  /** Counts down the transactions that commit before the process is killed. */
  killedAfter?: { left: number };
}

/** A process that is killed: nothing that it does afterwards has an effect. */
export class Killed extends Error {}

function mortal(context: JobContext, life: { left: number }): JobContext {
  return {
    ...context,
    transact: async (work) => {
      if (life.left <= 0) throw new Killed();
      life.left -= 1;
      return context.transact(work);
    },
  };
}

interface QueueRow {
  id: string;
  name: string;
  property_id: string;
  tenant: string;
  input: object;
  attempts: number;
  max_attempts: number;
}

/** Claims the next due job as a worker would and runs it. A rejected job stays claimed: it is what a crash leaves. */
async function runNext(
  house: House,
  propertyId: string,
  { open, only, killedAfter }: WorkOptions,
): Promise<boolean> {
  const { service } = house;
  const lease = randomUUID();
  const [claimed] = await service.db.asSystem(
    (sql) => sql<QueueRow[]>`
    update queue set state = 'running', attempts = attempts + 1, lease = ${lease}, dedupe = null,
      leased_until = now() + interval '1 hour'
    where id = (select id from queue
      where state = 'ready' and run_at <= now() and property_id = ${propertyId} and name <> 'deliver_webhooks'
        and name = coalesce(${only ?? null}, name) order by run_at, id limit 1 for update skip locked)
    returning id, name, property_id, tenant, input, attempts, max_attempts`,
  );
  if (!claimed) return false;
  const job = CATALOG.jobs.get(claimed.name) as Job<unknown>;
  const jobRuntime = {
    outgoing: null as never,
    mailDomains: null as never,
    open: ((_channel, chosen, keep) => open?.(keep, chosen) ?? vendor().sender) as JobRuntime["open"],
  };
  const held = {
    ...claimed,
    lease,
    state: "running" as const,
    since: 0,
    batch: { left: 1, jobs: 1, since: 0 },
    stop: new AbortController(),
  };
  const context = jobContexts({ ...service, jobRuntime }, () => {}).of(held);
  await job.handler(killedAfter ? mortal(context, killedAfter) : context, job.input.parse(claimed.input));
  await service.db.asSystem((sql) => sql`delete from queue where id = ${claimed.id}`);
  return true;
}

/** What happens to the jobs of a worker that is lost: they are ready again. */
export async function loseWorker(house: House, propertyId: string): Promise<void> {
  await house.service.db.asSystem(
    (sql) => sql`
    update queue set state = 'ready', lease = null, leased_until = null, run_at = now() where state = 'running' and property_id = ${propertyId}`,
  );
}
