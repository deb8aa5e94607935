import { randomUUIDv7 } from "node:crypto";
import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { appendConsents, EXPIRE_CONSENTS, type LedgerRow } from "./ledger.ts";

const BATCH = 1_000;
/** A consent that ended this long before it was recorded was never in force. */
const WITHIN_DAYS = 30;

/** Writes expired consents into the ledger, and emits their events. The gate has refused them since their end. */
export default job({
  ...EXPIRE_CONSENTS,
  async handler({ transact, signal }) {
    while (!signal.aborted && (await transact(expireNext)) === BATCH) {}
  },
});

type Expired = Pick<
  LedgerRow,
  "player_id" | "channel" | "consent_level" | "consent_version" | "jurisdiction" | "address_hash"
> & { at: string };

/** The consents in force whose end has passed, and that are not recorded as expired. Answers the number of them. */
async function expireNext({ sql, property, emit }: Context): Promise<number> {
  const expired = await sql<Expired[]>`
    select g.player_id, g.channel, g.consent_level, g.consent_version, g.jurisdiction,
      encode(g.address_hash, 'hex') as address_hash, to_json(g.expires_at) #>> '{}' as at
    from consent_records g join players p on p.property_id = ${property.id} and p.id = g.player_id
    where g.property_id = ${property.id} and g.action = 'granted' and g.purpose = 'marketing'
      and g.expires_at <= now() and g.expires_at > now() - make_interval(days => ${WITHIN_DAYS})
      -- It is the one in force.
      and p.consents ->> g.channel = 'true' and (p.consent_expiries ->> g.channel)::timestamptz = g.expires_at
      and coalesce(p.consent_levels ->> g.channel, 'express') = g.consent_level
      and not exists (select from consent_records n
        where n.property_id = ${property.id} and n.player_id = g.player_id and n.channel = g.channel
          and n.purpose = 'marketing' and (n.occurred_at, n.id) > (g.occurred_at, g.id)
          and (n.action = 'expired' and n.occurred_at = g.expires_at or n.action = 'granted'
            and n.expires_at = g.expires_at and n.consent_level = g.consent_level))
    order by g.player_id, g.channel limit ${BATCH}
    for no key update of p`;
  const rows = expired.map(
    ({ at, ...consent }): LedgerRow => ({
      property_id: property.id,
      id: randomUUIDv7(),
      ...consent,
      action: "expired",
      consent_given: false,
      purpose: "marketing",
      consent_source: null,
      consent_text: null,
      consent_text_sha256: null,
      collection_method: "expiry",
      ip_address: null,
      user_agent: null,
      occurred_at: at,
      expires_at: at,
      actor_type: "system",
      actor_id: null,
    }),
  );
  await appendConsents(sql, rows);
  for (const { id, player_id, channel, action, occurred_at } of rows) {
    emit("consent.expired", { id, player_id, channel, action, occurred_at });
  }
  return rows.length;
}
