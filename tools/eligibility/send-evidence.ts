import { z } from "zod";
import { sql as fragment, raw } from "#db/sql.ts";
import { one } from "#runtime/faults.ts";
import { columnNames, timestamp, viewOf } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { ACTOR_SQL, Actor } from "#tools/audit/actor.ts";
import campaignSends from "#tools/campaigns/campaign-sends.table.ts";
import consentRecords from "#tools/consent/consent-records.table.ts";
import { rowsInForce } from "#tools/consent/in-force.ts";

const MOST_ACTS = 50;

const Act = z.object({
  at: timestamp(),
  action: z.string(),
  actor: Actor,
  client: z.string().nullable(),
  record_hash: z.string(),
});

export default tool({
  name: "send_evidence",
  title: "Show the evidence of one message",
  description:
    "Shows a regulator, or answers a complaint: the message's record, the consent in force when it was sent, and the campaign with its approval. The sealed ledgers tell who did what with that campaign.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { sendId: z.uuid().describe("From list_campaign_sends"), propertyId: z.uuid() },
  output: z.object({
    send: viewOf(campaignSends),
    consent: viewOf(consentRecords)
      .nullable()
      .describe("The newest entry of the channel before the message; null: none, or the person is erased"),
    campaign: z
      .object({
        id: z.uuid(),
        name: z.string(),
        subject: z.string().nullable(),
        journey_id: z.uuid().nullable(),
        approved: z.record(z.string(), z.unknown()).nullable(),
      })
      .nullable(),
    acts: z.array(Act).describe("The audit log's rows about the campaign or its journey, oldest first"),
  }),
  faults: ["not_found"],
  async handler(context, { sendId }) {
    const { sql, property } = context;
    const sends = await sql<{ row: Send }[]>`
      select row_to_json(s) as row from (
        select ${columnNames(campaignSends)} from campaign_sends
        where property_id = ${property.id} and id = ${sendId}) s`;
    const send = one(sends, "campaign send", sendId).row;
    const campaign = send.campaign_id === null ? null : await campaignOf(context, send.campaign_id);
    const consent = await consentBefore(context, send);
    return { send, consent, campaign, acts: campaign ? await actsOn(context, campaign) : [] };
  },
});

type Send = RowOf<typeof campaignSends.columns>;
type Consent = RowOf<typeof consentRecords.columns>;

interface Campaign {
  id: string;
  name: string;
  subject: string | null;
  journey_id: string | null;
  approved: Record<string, unknown> | null;
}

async function campaignOf({ sql, property }: Tenant, id: string): Promise<Campaign | null> {
  const [campaign] = await sql<Campaign[]>`
    select id, name, subject, journey_id, approved from campaigns
    where property_id = ${property.id} and id = ${id}`;
  return campaign ?? null;
}

async function consentBefore({ sql, property }: Tenant, send: Send): Promise<Consent | null> {
  const { player_id, channel, sent_at, created_at } = send;
  if (player_id === null) return null;
  const players = fragment`array[${player_id}::uuid]`;
  const until = fragment`${sent_at ?? created_at}::timestamptz`;
  const [found] = await sql<{ row: Consent }[]>`
    select row_to_json(c) as row from (
      select ${columnNames(consentRecords)} from (${rowsInForce(property, { players, until })}) r
      where r.channel = ${channel}) c`;
  return found?.row ?? null;
}

async function actsOn({ sql, property }: Tenant, { id, journey_id }: Campaign) {
  const acts = await sql<{ row: z.output<typeof Act> }[]>`
    select row_to_json(a) as row from (
      select created_at as at, action, ${raw(ACTOR_SQL)} as actor, client, encode(record_hash, 'hex') as record_hash
      from audit_logs
      where property_id = ${property.id} and entity_id in (${id}, ${journey_id})
      order by created_at, id limit ${MOST_ACTS}) a`;
  return acts.map(({ row }) => row);
}
