import { createHash } from "node:crypto";
import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";

export const FOLDERS = ["inbox", "archive"] as const;
export const Folder = z.enum(FOLDERS);
export type Folder = z.output<typeof Folder>;

const PAGE_SIZE = 20;
/** No player turns further: 2,000 messages. */
export const MOST_PAGES = 100;

const moment = () => z.string().nullable();

export const InboxItem = z.object({
  id: z.uuid(),
  title: z.string(),
  body: z.string(),
  category: z.string().nullable(),
  image_url: z.string().nullable(),
  cta_label: z.string().nullable(),
  cta_url: z.string().nullable(),
  offer: z
    .object({
      type: z.string(),
      value: z.string(),
      code: z.string().nullable().describe("null: there is none, or the offer has expired"),
      expires_at: moment(),
      expired: z.boolean(),
    })
    .nullable(),
  pinned: z.boolean(),
  delivered_at: z.string(),
  seen_at: moment(),
  read_at: moment(),
  clicked_at: moment(),
  archived_at: moment(),
  expires_at: moment(),
});
export type InboxItem = z.output<typeof InboxItem>;

/** The answer of every read and write of an inbox: counts that a client keeps would drift. */
export const Inbox = z.object({
  items: z.array(InboxItem),
  unseen: z.int().describe("Messages that were not in view yet"),
  unread: z.int().describe("Messages that were not opened yet"),
  more: z.boolean().describe("A further page has older messages"),
  timezone: z.string().describe("The property's: its clock tells the days that are shown"),
  etag: z.string().describe("Changes when anything of this answer does; for If-None-Match"),
});
export type Inbox = z.output<typeof Inbox>;

export interface Shelf {
  playerId: string;
  folder: Folder;
  /** From 1. */
  page: number;
  /** Only this message, from any folder. */
  messageId?: string | undefined;
}

/** A page of a player's messages that have not expired, or one of them, with the counts of the inbox. */
export async function inboxOf(context: Tenant, { playerId, folder, page, messageId }: Shelf): Promise<Inbox> {
  const { sql, property } = context;
  const wanted =
    messageId === undefined
      ? sql`archived_at is ${folder === "inbox" ? sql`null` : sql`not null`}`
      : sql`id = ${messageId}`;
  const [rows, counts] = await Promise.all([
    sql<InboxItem[]>`
      select id, title, body, category, image_url, cta_label, cta_url, pinned, delivered_at, seen_at, read_at,
        clicked_at, archived_at, expires_at, case when offer is not null then jsonb_build_object(
          'type', offer -> 'type', 'value', offer -> 'value', 'expires_at', offer -> 'expires_at',
          'expired', coalesce((offer ->> 'expires_at')::timestamptz <= now(), false),
          'code', case when (offer ->> 'expires_at')::timestamptz <= now() then null else offer -> 'code' end) end as offer
      from inbox_messages
      where property_id = ${property.id} and player_id = ${playerId} and ${wanted}
        and (expires_at is null or expires_at > now())
      order by pinned desc, priority desc, delivered_at desc, id desc
      limit ${PAGE_SIZE + 1} offset ${(page - 1) * PAGE_SIZE}`,
    countInboxes(context, [playerId]),
  ]);
  const { unseen, unread } = counts.get(playerId) ?? EMPTY;
  const answer = {
    items: rows.slice(0, PAGE_SIZE),
    unseen,
    unread,
    more: rows.length > PAGE_SIZE && page < MOST_PAGES,
    timezone: property.timezone,
  };
  return { ...answer, etag: etagOf(answer) };
}

export interface InboxCounts {
  unseen: number;
  unread: number;
}

const EMPTY: InboxCounts = { unseen: 0, unread: 0 };

/** The counts of several players' inboxes. Players without messages are left out. */
export async function countInboxes(
  { sql, property }: Tenant,
  playerIds: readonly string[],
): Promise<Map<string, InboxCounts>> {
  const rows = await sql<({ player_id: string } & InboxCounts)[]>`
    select player_id, (count(*) filter (where seen_at is null))::int as unseen,
      (count(*) filter (where read_at is null))::int as unread
    from inbox_messages
    where property_id = ${property.id} and player_id = any(${playerIds}::uuid[]) and archived_at is null
      and (expires_at is null or expires_at > now())
    group by player_id`;
  return new Map(rows.map(({ player_id, unseen, unread }) => [player_id, { unseen, unread }]));
}

function etagOf(answer: object): string {
  return createHash("sha256").update(JSON.stringify(answer)).digest("base64url").slice(0, 22);
}
