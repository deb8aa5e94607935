import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { literals } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { Fault } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { quoted } from "#runtime/visible-text.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";

const Going = z.object({
  property: z.string().describe("Its slug"),
  id: z.uuid(),
  name: z.string(),
  channel: z.string(),
  status: z.string(),
  scheduled_at: timestamp().nullable(),
  waiting: z.int().nullable().describe("Messages that this database has not sent; null before planning"),
});

const Inside = z.object({
  property: z.string().describe("Its slug"),
  id: z.uuid(),
  name: z.string(),
  people: z.int().describe("Players inside, who go on"),
  next_at: timestamp()
    .nullable()
    .describe("When the first of them goes on; null for those who wait for an event"),
});

const Told = z.object({
  property: z.string().describe("Its slug"),
  waiting: z.int().describe("Deliveries, also those whose next try is later"),
});

const Waiting = z.object({
  property: z.string().nullable(),
  job: z.string(),
  count: z.int(),
});

const Known = z.object({
  property: z.string(),
  last_refusal_at: timestamp().nullable().describe("The newest STOP, unsubscription or refusal"),
  last_erasure_at: timestamp().nullable(),
});

export default tool({
  name: "release_sending",
  title: "Release sending",
  description:
    "Lets messages and webhooks go again from a database that was restored or cloned. Shows first which campaigns, journeys, webhooks and jobs would go, and up to when refusals and erasures are known: what the original sent or heard later is missing here.",
  scope: "write",
  effect: "contact",
  access: "operator",
  realm: "system",
  input: {},
  output: z.object({
    success: z.literal(true),
    held_since: timestamp().nullable(),
    data_until: timestamp().nullable().describe("The newest record when this database was first seen"),
    campaigns: z
      .array(Going)
      .describe("Their waiting messages go out. Cancel those that the original has sent since"),
    journeys: z
      .array(Inside)
      .describe(
        "Their people go on from the step of this database. Pause those that the original has led further",
      ),
    webhooks: z.array(Told).describe("The original may have delivered them since: receivers know the id"),
    jobs: z
      .array(Waiting)
      .describe("Other jobs that send, such as tests and replies, also those whose next try is later"),
    known_until: z
      .array(Known)
      .describe("Record the refusals again, and repeat the erasures, of the time between these and now"),
  }),
  faults: ["conflict"],
  deadline: 60_000,
  async handler({ sql, ask }) {
    const [held] = await sql<{ held_since: string | null; data_until: string | null }[]>`
      select held_since, data_until from installation where not sending_is_open() for update`;
    if (!held) throw new Fault("conflict", { message: "Sending is not held." });
    const campaigns: z.input<typeof Going>[] = [];
    const journeys: z.input<typeof Inside>[] = [];
    const webhooks: z.input<typeof Told>[] = [];
    const known_until: z.input<typeof Known>[] = [];
    for (const property of await sql<Property[]>`select id, slug from properties order by slug`) {
      campaigns.push(...(await goingCampaigns(sql, property)));
      journeys.push(...(await goingJourneys(sql, property)));
      webhooks.push(...(await waitingWebhooks(sql, property)));
      known_until.push(await knownUntil(sql, property));
    }
    const jobs = await waitingJobs(sql);
    const sentence = `This lets messages go again from a database that was restored or cloned, on ${held.held_since}: those of ${counted(campaigns.length, "campaign")} and ${counted(journeys.length, "journey")}, ${counted(
      webhooks.reduce((sum, { waiting }) => sum + waiting, 0),
      "webhook",
    )}, and ${counted(
      jobs.reduce((sum, { count }) => sum + count, 0),
      "other job",
    )}. Messages and answers of the original since then are missing here. It cannot be undone.`;
    ask?.({
      state: JSON.stringify([held, [...campaigns, ...journeys].map(({ id }) => id)]),
      sentences: () => [
        sentence,
        ...goingWords(campaigns),
        ...insideWords(journeys),
        ...known_until.map(knownWords),
      ],
    });
    await sql`
      update installation set identity = database_identity(), held_identity = null, held_since = null,
        data_until = null`;
    return { success: true as const, ...held, campaigns, journeys, webhooks, jobs, known_until };
  },
});

/** A person reads no more. */
const MOST_NAMED = 20;

function goingWords(campaigns: readonly z.input<typeof Going>[]): string[] {
  const words = campaigns.slice(0, MOST_NAMED).map(({ property, name, channel, status, waiting }) => {
    const messages =
      waiting === null ? "not planned yet" : counted(waiting, "message waits", "messages wait");
    return `${quoted(name)} of ${quoted(property)} by ${channel} is ${status}: ${messages}.`;
  });
  const more = campaigns.length - words.length;
  return more > 0 ? [...words, `${counted(more, "more campaign goes", "more campaigns go")} on.`] : words;
}

function insideWords(journeys: readonly z.input<typeof Inside>[]): string[] {
  const words = journeys.slice(0, MOST_NAMED).map(({ property, name, people, next_at }) => {
    const when = next_at === null ? "" : `; the first of them at ${next_at}`;
    const inside = counted(people, "player goes on", "players go on");
    return `In the journey ${quoted(name)} of ${quoted(property)} ${inside}${when}.`;
  });
  const more = journeys.length - words.length;
  return more > 0 ? [...words, `${counted(more, "more journey goes", "more journeys go")} on.`] : words;
}

function knownWords({ property, last_refusal_at, last_erasure_at }: z.input<typeof Known>): string {
  return `Of ${quoted(property)} the newest refusal known here is of ${last_refusal_at ?? "never"}, the newest erasure of ${last_erasure_at ?? "never"}.`;
}

interface Property {
  id: string;
  slug: string;
}

async function goingCampaigns(sql: Sql, { id, slug }: Property): Promise<z.input<typeof Going>[]> {
  const rows = await sql<z.input<typeof Going>[]>`
    select c.id, c.name, c.channel, c.status, c.scheduled_at, case when c.planned_at is not null then (
        select count(*)::int from campaign_sends s
        where s.property_id = ${id} and s.campaign_id = c.id and s.status in (${literals(WAITING_SENDS)})) end as waiting
    from campaigns c
    where c.property_id = ${id} and c.status in ('scheduled', 'queued', 'sending') and c.deleted_at is null
    order by c.status, c.id`;
  return rows.map((row) => ({ ...row, property: slug }));
}

/** The active journeys with people inside. A person who sleeps is in no due job, and goes on all the same. */
async function goingJourneys(sql: Sql, { id, slug }: Property): Promise<z.input<typeof Inside>[]> {
  const rows = await sql<z.input<typeof Inside>[]>`
    select j.id, j.name, inside.people, inside.next_at
    from (
      select e.journey_id, count(*)::int as people,
        min(e.wake_at) filter (where isfinite(e.wake_at)) as next_at
      from journey_enrollments e where e.property_id = ${id} and e.status = 'active' group by e.journey_id
    ) inside join journeys j on j.property_id = ${id} and j.id = inside.journey_id
    where j.status = 'active' and j.deleted_at is null
    order by j.id`;
  return rows.map((row) => ({ ...row, property: slug }));
}

async function waitingWebhooks(sql: Sql, { id, slug }: Property): Promise<z.input<typeof Told>[]> {
  const [row] = await sql<{ waiting: number }[]>`
    select count(*)::int as waiting from webhook_deliveries where property_id = ${id} and status = 'pending'`;
  return row!.waiting > 0 ? [{ property: slug, waiting: row!.waiting }] : [];
}

/** The jobs that send, apart from those whose work is listed as campaigns, journeys and webhooks. */
const SENDING_JOBS = [
  "enter_journey",
  "mail_approvals",
  "send_approval_notice",
  "send_invitation",
  "send_password_reset",
  "send_sms_reply",
  "send_test",
  "send_webhook_notice",
  "tell_winner",
] as const;

/** Also those whose next try is later, and those that a process of the original had begun. */
async function waitingJobs(sql: Sql): Promise<z.input<typeof Waiting>[]> {
  const rows = await sql<z.input<typeof Waiting>[]>`
    select p.slug as property, q.name as job, count(*)::int as count
    from queue q left join properties p on p.id = q.property_id
    where q.state <> 'dead' and q.name in (${literals(SENDING_JOBS)})
    group by p.slug, q.name order by p.slug, q.name`;
  return [...rows];
}

async function knownUntil(sql: Sql, { id, slug }: Property): Promise<z.input<typeof Known>> {
  const [refusal] = await sql<{ at: string }[]>`
    select created_at as at from consent_records where property_id = ${id} and not consent_given
    order by created_at desc limit 1`;
  const [erasure] = await sql<{ at: string }[]>`
    select created_at as at from privacy_requests where property_id = ${id} and type = 'deletion'
    order by created_at desc limit 1`;
  return { property: slug, last_refusal_at: refusal?.at ?? null, last_erasure_at: erasure?.at ?? null };
}
