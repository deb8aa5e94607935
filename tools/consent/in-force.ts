import { type Fragment, sql } from "#db/sql.ts";

/**
 * The ledger's row in force of each of these players and channels. A refusal or revocation is in force until a later
 * consent. Since then the last consent is; for calls the strongest, because a plain consent takes no written one back
 * (47 CFR 64.1200(a)(10): only the person revokes it). A refusal and a consent of one moment are a refusal, in
 * either order.
 */
export function rowsInForce(
  property: { id: string },
  { players, until }: { players: Fragment; until?: Fragment },
): Fragment {
  return sql`
    select distinct on (r.player_id, r.channel) r.*
    from (
      select c.*, count(*) filter (where not c.consent_given)
          over (partition by c.player_id, c.channel order by c.occurred_at desc, c.consent_given, c.id desc) as refusals
      from consent_records c
      where c.property_id = ${property.id}::uuid and c.player_id = any(${players}) and c.purpose = 'marketing'
        -- The consent itself stores its expiry.
        and c.action <> 'expired' ${until ? sql`and c.occurred_at <= ${until}` : sql``}
    ) r
    order by r.player_id, r.channel,
      case when r.channel = 'voice' and r.refusals = 0
        then array_position(array['implied', 'express', 'express_written'], r.consent_level) end desc nulls last,
      r.occurred_at desc, r.consent_given, r.id desc`;
}
