import { z } from "zod";
import { type Fragment, sql as fragment } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { recordEngagement } from "#tools/tracking/engagement.ts";
import { Folder, Inbox, inboxOf, MOST_PAGES } from "./inbox.ts";

const MARKS = ["seen", "read", "clicked", "pinned", "unpinned", "archived", "restored"] as const;
export type Mark = (typeof MARKS)[number];

const MOST_IDS = 50;

/** The inbox's page and the casino's app call it; their token names the property and the player. */
export default tool({
  name: "mark_inbox_messages",
  title: "Mark messages of a player's inbox",
  description:
    "Records that a player has seen, read or clicked messages, or pins and archives them. Safe to repeat. Seen and read count as opens of the campaign, and clicked as clicks.",
  scope: "write",
  effect: "change",
  access: "operator",
  input: {
    playerId: z.uuid().describe("From list_players"),
    ids: z.array(z.uuid()).min(1).max(MOST_IDS).describe("From show_inbox"),
    mark: z.enum(MARKS).describe("A read message is seen too, and a clicked one is read too"),
    folder: Folder.default("inbox").describe("The folder in the answer"),
    page: z.int().min(1).max(MOST_PAGES).default(1).describe("The page in the answer"),
  },
  output: Inbox,
  faults: ["not_found"],
  async handler(context, { playerId, ids, mark, folder, page }) {
    const before = await lockMessages(context, playerId, ids);
    // The same for a message of another player and for one that does not exist.
    if (before.length !== new Set(ids).size) throw new Fault("not_found");
    const { sql, property } = context;
    await sql`
      with moment as materialized (select now() as at)
      update inbox_messages m set ${CHANGES[mark]}, updated_at = t.at
      from moment t
      where m.property_id = ${property.id} and m.player_id = ${playerId} and m.id = any(${ids}::uuid[])`;
    await announce(context, mark, before);
    context.audit({ entity: "players", entityId: playerId, diff: { mark, ids } });
    return inboxOf(context, { playerId, folder, page });
  },
});

const SEEN = fragment`seen_at = coalesce(m.seen_at, t.at)`;
const READ = fragment`${SEEN}, read_at = coalesce(m.read_at, t.at)`;

/** Over `inbox_messages m` and `moment t`. */
const CHANGES: Record<Mark, Fragment> = {
  seen: SEEN,
  read: READ,
  clicked: fragment`${READ}, clicked_at = coalesce(m.clicked_at, t.at)`,
  pinned: fragment`pinned = true`,
  unpinned: fragment`pinned = false`,
  archived: fragment`${SEEN}, archived_at = coalesce(m.archived_at, t.at)`,
  restored: fragment`archived_at = null`,
};

interface Before {
  id: string;
  player_id: string;
  campaign_id: string | null;
  title: string;
  seen: boolean;
  read: boolean;
}

async function lockMessages(
  { sql, property }: Context,
  playerId: string,
  ids: readonly string[],
): Promise<Before[]> {
  return sql<Before[]>`
    select id, player_id, campaign_id, title, seen_at is not null as seen, read_at is not null as read
    from inbox_messages
    where property_id = ${property.id} and player_id = ${playerId} and id = any(${ids}::uuid[])
      and (expires_at is null or expires_at > now())
    order by id for update`;
}

/** Tells the campaign's figures and the subscribers what happened for the first time. */
async function announce(context: Context, mark: Mark, before: readonly Before[]): Promise<void> {
  const reads = mark === "read" || mark === "clicked";
  if (!reads && mark !== "seen" && mark !== "archived") return;
  const opened = before.filter(({ seen, read }) => (reads ? !read : !seen));
  const clicked = mark === "clicked" ? before : [];
  if (context.property.tracking === "on") {
    await recordEngagement(context, [
      ...opened.map(({ id }) => ({ kind: "opened" as const, sendId: id, machine: false, proved: true })),
      ...clicked.map(({ id }) => ({ kind: "clicked" as const, sendId: id, machine: false, proved: true })),
    ]);
  }
  if (!reads) return;
  for (const { id, player_id, campaign_id, title, read } of before) {
    if (!read) context.emit("player.inbox_read", { id, player_id, campaign_id, title });
  }
}
