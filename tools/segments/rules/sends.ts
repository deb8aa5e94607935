import { type Fragment, raw, sql } from "#db/sql.ts";
import type { RuleScope } from "./rule-scope.ts";

/** The facts of a send `c` that a condition may ask for. */
export const SEND: Record<string, Fragment> = {
  sent: sql`c.status in ('sent', 'delivered')`,
  opened: sql`c.opened_at is not null`,
  clicked: sql`c.clicked_at is not null`,
  converted: sql`c.converted_at is not null`,
  redeemed: sql`c.redeemed_at is not null`,
  held_out: sql`c.status = 'skipped' and 'holdout' = any(c.skip_reasons)`,
};

/** For each channel, the facts of a send `c` that are known beside its sending, as SQL. */
const DONE: Readonly<Record<string, Partial<Record<string, (scope: RuleScope) => Fragment>>>> = {
  email: { opened: () => SEND.opened!, clicked: () => SEND.clicked! },
  push: { clicked: () => SEND.clicked! },
  inbox: { opened: inInbox("read_at"), clicked: inInbox("clicked_at") },
};

/** A message of the inbox has the id of its send. */
function inInbox(time: string): (scope: RuleScope) => Fragment {
  return ({ property }) => sql`exists (select 1 from inbox_messages i where i.property_id = ${property}
    and i.id = c.id and ${raw(`i.${time}`)} is not null)`;
}

/**
 * A fact of the last message of a journey's node in a player's entry, as SQL over the enrollment `d` and the player `p`;
 * null where its channel does not tell it.
 */
export function lastMessage(
  node: string,
  what: string,
  { channel, scope }: { channel: string; scope: RuleScope },
): Fragment | null {
  const fact = what === "sent" ? SEND.sent : DONE[channel]?.[what]?.(scope);
  if (!fact) return null;
  return sql`coalesce((select ${fact} from campaign_sends c
      join campaigns k on k.property_id = ${scope.property} and k.id = c.campaign_id
    where c.property_id = ${scope.property} and c.player_id = p.id and c.enrollment_id = d.id
      and k.journey_node = ${node}::text
    order by c.id desc limit 1), false)`;
}
