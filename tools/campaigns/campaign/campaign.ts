import { assignments } from "#db/sql.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { Fault, one } from "#runtime/faults.ts";
import { columnNames, forEvents, storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import type { RowOf, StoredOf } from "#runtime/operation/table.ts";
import { type CampaignStatus, LIVE_CAMPAIGNS } from "#tools/statuses/campaigns.ts";
import { columns } from "./columns.ts";
import { settleLater } from "./jobs.ts";

/** A campaign as it is stored. */
export type Campaign = StoredOf<typeof columns>;

/** A campaign as operations answer it. */
export const CampaignView = viewOf({ columns });

/** The campaign; `lock` locks it to the end of the transaction. `deletedToo`: for its figures. Throws `not_found`. */
export async function findCampaign(
  { sql, property }: Tenant,
  id: string,
  options: { lock?: boolean; deletedToo?: boolean } = {},
): Promise<Campaign> {
  const campaigns = await sql<Campaign[]>`
    select ${storedNames(columns)}
    from campaigns
    where property_id = ${property.id} and id = ${id}
    ${options.deletedToo ? sql`` : sql`and deleted_at is null`} ${options.lock ? sql`for no key update` : sql``}`;
  return one(campaigns, "campaign", id);
}

/** Answers null for a deleted campaign: its jobs have nothing left to do. Throws any other error. */
export function nullIfDeleted(error: unknown): null {
  if (error instanceof Fault && error.code === "not_found") return null;
  throw error;
}

/** The fields of a campaign that its events carry: all but the bodies. */
export function eventFields(record: Record<string, unknown>): Record<string, unknown> {
  return forEvents(columns, record);
}

/** The channel that carries messages of a campaign's channel. The API calls the inbox loyaltyvip too. */
export function sendingChannel({ channel }: Pick<Campaign, "channel">): SendingChannel {
  return channel === "loyaltyvip" ? "inbox" : channel;
}

/** The campaign as it goes out now: the time of an earlier schedule holds no longer. */
export function sentNow(campaign: Campaign): Campaign {
  return { ...campaign, scheduled_at: null, fires_at: null };
}

interface StatusChange {
  from: readonly CampaignStatus[];
  to: CampaignStatus;
  event: EventName | null;
  /** The verb of the refusal: the campaign can `verb` while it is … */
  verb: string;
  /** Other operations that do what the caller wants, by the status that forbids this one. */
  instead?: Partial<Record<CampaignStatus, string>>;
}

/** Every way from one status to another, by the action that takes it. */
const ACTIONS = {
  schedule: {
    from: ["draft", "scheduled"],
    to: "scheduled",
    event: "campaign.scheduled",
    verb: "be scheduled",
  },
  unschedule: {
    from: ["scheduled"],
    to: "draft",
    event: "campaign.unscheduled",
    verb: "be unscheduled",
  },
  send: { from: ["draft", "scheduled", "failed"], to: "queued", event: "campaign.started", verb: "be sent" },
  start: { from: ["queued"], to: "sending", event: null, verb: "start" },
  pause: {
    from: ["sending"],
    to: "paused",
    event: "campaign.paused",
    verb: "be paused",
    instead: {
      scheduled: "unschedule_campaign makes it a draft again, and cancel_campaign ends it.",
      queued: "cancel_campaign ends it at once.",
      sent: "Sent messages cannot be called back.",
    },
  },
  pauseAll: { from: ["queued", "sending"], to: "paused", event: "campaign.paused", verb: "be paused" },
  hold: {
    from: LIVE_CAMPAIGNS,
    to: "paused",
    event: "campaign.paused",
    verb: "be held",
  },
  resume: { from: ["paused"], to: "sending", event: "campaign.resumed", verb: "be resumed" },
  cancel: {
    from: LIVE_CAMPAIGNS,
    to: "cancelled",
    event: "campaign.cancelled",
    verb: "be cancelled",
  },
  finish: { from: ["sending"], to: "sent", event: "campaign.sent", verb: "finish" },
  fail: { from: ["scheduled", "queued", "sending"], to: "failed", event: "campaign.failed", verb: "fail" },
} as const satisfies Record<string, StatusChange>;
export type Action = keyof typeof ACTIONS;

/** Whether the status allows the action. */
export function allows(status: CampaignStatus, action: Action): boolean {
  const from: readonly CampaignStatus[] = ACTIONS[action].from;
  return from.includes(status);
}

/** The campaign, locked. Throws `conflict`, naming its status, when the status forbids the action. */
export async function lockFor(context: Context, id: string, action: Action): Promise<Campaign> {
  const campaign = await findCampaign(context, id, { lock: true });
  refuseJourneys(campaign);
  checkStatus(campaign, action);
  return campaign;
}

/** Throws `conflict` for a campaign that carries the messages of a journey. */
export function refuseJourneys({
  journey_id,
  journey_node,
}: Pick<Campaign, "journey_id" | "journey_node">): void {
  if (journey_id === null) return;
  throw new Fault("conflict", {
    message: `The campaign sends the messages of the node ${journey_node} of a journey. Change the journey ${journey_id}: publish_journey, pause_journey or archive_journey.`,
  });
}

/** Throws `conflict`, naming the status, when the status forbids the action. */
export function checkStatus({ status }: Pick<Campaign, "status">, action: Action): void {
  if (allows(status, action)) return;
  const { from, verb, instead }: StatusChange = ACTIONS[action];
  const other = instead?.[status];
  throw new Fault("conflict", {
    message: `The campaign is ${status}; it can ${verb} while it is ${from.join(" or ")}.${other ? ` ${other}` : ""}`,
  });
}

/** Gives a locked campaign the action's status and these values, with the action's event. */
export async function changeStatus(
  context: Context,
  id: string,
  action: Action,
  values: object = {},
  eventExtras: object = {},
): Promise<RowOf<typeof columns>> {
  const { sql, property } = context;
  const { to, event }: StatusChange = ACTIONS[action];
  const written = { status: to, status_reason: null, ...values, updated_at: "now" };
  const [changed] = await sql<[{ row: RowOf<typeof columns> }]>`
    with changed as (
      update campaigns set ${assignments(written)} where property_id = ${property.id} and id = ${id} returning *
    )
    select row_to_json(v) as row from (select ${columnNames({ columns })} from changed) v`;
  const { row } = changed;
  if (event) context.emit(event, { ...eventFields(row), ...eventExtras });
  context.audit({ entity: "campaigns", entityId: id });
  return row;
}

/** Fails a locked campaign that can never be sent as it is. */
export async function fail(context: Context, id: string, reason: string): Promise<void> {
  settleLater(context, { campaignId: id });
  await changeStatus(context, id, "fail", { status_reason: reason.slice(0, 1000), finished_at: "now" });
}

/** Runs a campaign's job. An error that no other attempt can repair fails the campaign, with the reason. */
export async function orFail(job: JobContext, id: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isLasting = error instanceof Fault && error.status < 500;
    if (job.signal.aborted || !(isLasting || job.isLast)) throw error;
    const reason = isLasting
      ? error.message
      : "The job failed too often; see the log. Send the campaign again to go on.";
    await job.transact(async (context) => {
      const campaign = await findCampaign(context, id, { lock: true }).catch(nullIfDeleted);
      if (!campaign) return;
      job.log.error({ err: error, campaignId: id }, "campaign failed");
      const { from }: StatusChange = ACTIONS.fail;
      if (from.includes(campaign.status)) await fail(context, id, reason);
    });
  }
}

/** All templates that a campaign's messages may come from, with the field that names each. */
export function templatesOf({
  template_id,
  ab_test,
}: Pick<Campaign, "template_id" | "ab_test">): { field: string; id: string }[] {
  const named = [
    { field: "template_id", id: template_id },
    ...(ab_test?.variants ?? []).map((variant, index) => {
      return { field: `ab_test.variants[${index}].template_id`, id: variant.template_id };
    }),
  ];
  return named.flatMap(({ field, id }) => (id ? [{ field, id }] : []));
}

/** Locks the campaign's templates, so that their content stays to the end of the transaction. */
export async function lockTemplates(
  { sql, property }: Tenant,
  campaign: Pick<Campaign, "template_id" | "ab_test">,
): Promise<void> {
  const ids = templatesOf(campaign).map(({ id }) => id);
  if (ids.length === 0) return;
  await sql`select from templates where property_id = ${property.id} and id = any(${ids}::uuid[]) for share`;
}
