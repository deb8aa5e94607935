import { performance } from "node:perf_hooks";
import postgres from "postgres";
import { connect, type Database } from "#db/database.ts";
import { raw } from "#db/sql.ts";
import type { Sender } from "#runtime/channels/index.ts";
import type { EmailMessage, StoreMessages } from "#runtime/channels/provider/channel.ts";
import { readConfig } from "#runtime/config.ts";
import { openDirectory } from "#runtime/identity/directory.ts";
import { jobContexts } from "#runtime/jobs/job-context.ts";
import { createLog } from "#runtime/log.ts";
import type { Job, JobContext, JobRuntime } from "#runtime/operation/job.ts";
import { campaignPrints } from "#tools/campaigns/approval/prints.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import type { Recipient } from "#tools/campaigns/content/content.ts";
import { renderMessages } from "#tools/campaigns/content/render-messages.ts";
import deliverCampaign from "#tools/campaigns/delivery/deliver-campaign.job.ts";
import { recordOutcomes } from "#tools/campaigns/delivery/record-outcomes.ts";
import { PARALLEL_BATCHES } from "#tools/campaigns/delivery/shift.ts";
import planCampaign from "#tools/campaigns/plan-campaign.job.ts";
import { planPage } from "#tools/campaigns/planning/plan.ts";
import { compileContent } from "#tools/campaigns/preflight/readiness.ts";
import { pads } from "#tools/people/address.ts";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { PLAYER_FIELDS } from "#tools/templates/rendering/liquid.ts";
import { benchDatabase } from "./database.ts";

/** Of so many players, how many may be sent to: one in ten has not consented, one in 50 is suppressed. */
export function mostSends(players: number): number {
  return players - Math.floor(players / 10) - Math.ceil(players / 50);
}

function allowed(owner: postgres.Sql) {
  return owner`p.player_id::int % 10 <> 0 and p.player_id::int % 50 <> 1`;
}

/** A property with so many players, of whom `mostSends` may be sent to. */
export async function openCampaigns(players: number) {
  const url = await benchDatabase();
  const owner = postgres(url, { max: 1, onnotice: () => {} });
  const [property] = await owner<{ id: string; pepper: Buffer }[]>`
    insert into properties (name, slug, legal_name, postal_address)
    values ('Bench', 'bench', 'Bench LLC', '1 Main Street') returning id, pepper`;
  const { id, pepper } = property!;
  const { inner, outer } = pads(pepper);
  await owner`
    insert into players (property_id, player_id, email, email_hash, first_name, tier, consents)
    select ${id}, n::text, 'p' || n || '@example.com', address_hash(${inner}, ${outer}, 'p' || n || '@example.com'),
      'Ana', 'Gold', case when n % 10 = 0 then '{}'::jsonb else '{"email": true}' end
    from generate_series(1, ${players}::int) n`;
  await owner`
    insert into suppressions (property_id, channel, address_hash, reason)
    select ${id}, 'email', email_hash, 'manual' from players where player_id::int % 50 = 1`;
  await owner.unsafe("vacuum analyze");
  const config = readConfig({ DATABASE_URL: url, APP_SECRET: "b".repeat(32), LOG_LEVEL: "warn" });
  const db = connect(url);
  const log = createLog("warn");
  const directory = await openDirectory(db, log);
  const around = {
    db,
    config,
    directory,
    sessions: { issue: async () => "", sessionOf: async () => null, signDetached: async () => "" },
    log,
  };
  const run = <Input>(job: Job<Input>, sender: Parameters<typeof context>[2], input: Input) =>
    context(around, id, sender).then((made) => job.handler(made, input));
  return {
    async planInChunks(): Promise<number> {
      const campaignId = await newCampaign(owner, id);
      const seconds = await timed(() => run(planCampaign, () => null as never, { campaignId }));
      const [row] = await owner<{ count: number }[]>`
        select audience_count as count from campaigns where id = ${campaignId}`;
      if (row!.count !== players)
        throw new Error(`the control moved: ${row!.count} of ${players} are planned`);
      await clear(owner, campaignId);
      return seconds;
    },
    async planAtOnce(): Promise<number> {
      const campaignId = await newCampaign(owner, id);
      const own = (await directory.property(id))!;
      const work = async (sql: Parameters<Parameters<Database["asProperty"]>[1]>[0]) => {
        const setting = { sql, property: own };
        await planPage(setting, await findCampaign(setting, campaignId), players + 1);
      };
      const seconds = await timed(() => db.asProperty(id, work, { deadline: 600_000 }));
      await clear(owner, campaignId);
      return seconds;
    },
    /** By the job; without a provider, the same batches claimed and recorded with no gate between. */
    async deliver(sends: number, open: Parameters<typeof context>[2] | null): Promise<number> {
      const campaignId = await newCampaign(owner, id);
      await owner`
        insert into campaign_sends (property_id, campaign_id, player_id, channel, status, address_hash, dedupe_key)
        select ${id}, ${campaignId}, p.id, 'email', 'pending', p.email_hash, sha256(uuid_send(p.id))
        from players p where ${allowed(owner)} order by p.id limit ${sends}`;
      // As planning does.
      await owner`select analyze_sends()`;
      await owner`update campaigns set status = 'sending', planned_at = now() where id = ${campaignId}`;
      // As send_campaign does.
      const own = (await directory.property(id))!;
      const prints = await db.asProperty(id, async (sql) =>
        campaignPrints({ sql, property: own }, await findCampaign({ sql, property: own }, campaignId)),
      );
      await owner`update campaigns set approved_state = ${owner.json(prints as never)} where id = ${campaignId}`;
      const bare = () =>
        context(around, id, () => null as never).then((made) => bareBatches(made, campaignId));
      const shifts = async (sender: Parameters<typeof context>[2]) => {
        for (let input: Shift | undefined = { campaignId }; input; input = await nextShift(owner)) {
          await run(deliverCampaign, sender, input);
        }
      };
      const seconds = await timed(open ? () => shifts(open) : bare);
      const [row] = await owner<{ sent: number }[]>`
        select count(*)::int as sent from campaign_sends where campaign_id = ${campaignId} and status = 'sent'`;
      if (row!.sent !== sends) throw new Error(`the control moved: ${row!.sent} of ${sends} are sent`);
      await clear(owner, campaignId);
      return seconds;
    },
    async close(): Promise<void> {
      await directory.close();
      await db.close();
      await owner.end();
    },
  };
}

interface Shift {
  campaignId: string;
  after?: string;
}

/** The work that a delivery has left to the next job. A later attempt, because of a pause, is made at once. */
async function nextShift(owner: postgres.Sql): Promise<Shift | undefined> {
  await owner`update campaign_sends set scheduled_for = null where status = 'pending' and scheduled_for is not null`;
  const [row] = await owner<{ input: Shift }[]>`
    delete from queue where name = ${deliverCampaign.name} and state = 'ready' returning input`;
  return row?.input;
}

/** The peer of S14: the same batches in as many loops, rendered and recorded too, with no gate and no provider. */
async function bareBatches(
  { jobId, propertyId, transact, config }: JobContext,
  campaignId: string,
): Promise<void> {
  const content = await transact(async (context) => {
    const ready = await compileContent("email", context, await findCampaign(context, campaignId));
    return ready.content!.outgoing!(context);
  });
  const links = unsubscribeLinks(config);
  const lane = async () => {
    for (let after = "00000000-0000-0000-0000-000000000000"; ; ) {
      const batch = await transact(
        ({ sql, property }) => sql<Recipient[]>`
          update campaign_sends s set status = 'sending', claimed_by = ${jobId}, claimed_at = now(), updated_at = now()
          from (
            select s.id, s.player_id from campaign_sends s
            where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.status = 'pending'
              and s.id > ${after}
            order by s.id limit 500 for update of s skip locked) k
          join players p on p.property_id = ${property.id} and p.id = k.player_id
          where s.property_id = ${property.id} and s.id = k.id
          returning s.id as send_id, ${raw(PLAYER_FIELDS.map((field) => `p."${field}"`).join(", "))}`,
      );
      if (batch.length === 0) return;
      after = batch
        .map(({ send_id }) => send_id)
        .sort()
        .at(-1)!;
      const linkOf = (id: string) => links(propertyId!, id);
      const messages: EmailMessage[] = [];
      // A message that a pause of the process has kept is rendered again.
      for (let left = [...batch]; left.length > 0; ) {
        const rendered = await renderMessages(content, left, linkOf, Number.POSITIVE_INFINITY);
        messages.push(...rendered.messages);
        const slow = new Set(rendered.unrendered.map(({ id }) => id));
        left = left.filter(({ send_id }) => slow.has(send_id));
      }
      const outcomes = messages.map(({ id }) => ({ id, status: "sent" as const, providerMessageId: id }));
      await transact((context) => recordOutcomes(context, jobId, { outcomes, messages }));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_BATCHES }, lane));
}

async function newCampaign(owner: postgres.Sql, property: string): Promise<string> {
  const [row] = await owner<{ id: string }[]>`
    insert into campaigns (property_id, name, audience, subject, body_html, status, started_at)
    values (${property}, 'Bench', 'all', 'Hello {{ first_name }}',
      '<html><body><h1>Hello {{ first_name }}</h1><p>{{ tier }} players get double points.</p></body></html>', 'sending', now())
    returning id`;
  return row!.id;
}

async function clear(owner: postgres.Sql, campaignId: string): Promise<void> {
  const [row] = await owner`select status, audience_count from campaigns where id = ${campaignId}`;
  if (row?.status === "failed") throw new Error("the campaign failed");
  await owner.unsafe("truncate campaign_sends, mailbox_messages, queue cascade");
}

/** A job's context under a real lease, so that every transaction is fenced as in the service. */
async function context(
  around: Omit<Parameters<typeof jobContexts>[0], "jobRuntime">,
  propertyId: string,
  openEmail: (store: StoreMessages) => Sender<"email">,
) {
  const [row] = await around.db.asSystem(
    (sql) => sql<{ id: string; lease: string }[]>`
      insert into queue (id, name, property_id, input, max_attempts, state, lease, leased_until)
      values (uuid_v7(), 'bench', ${propertyId}, '{}', 1, 'running', gen_random_uuid(), now() + interval '1 hour')
      returning id, lease`,
  );
  const jobRuntime = {
    outgoing: null as never,
    mailDomains: null as never,
    run: null as never,
    open: ((_channel, _chosen, store) => openEmail(store)) as JobRuntime["open"],
  };
  return jobContexts({ ...around, jobRuntime }, () => {}).of({
    ...row!,
    name: "bench",
    property_id: propertyId,
    tenant: propertyId,
    input: {},
    attempts: 1,
    max_attempts: 2,
    trace: null,
    merge_key: null,
    claimedAt: 0,
    stop: new AbortController(),
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
