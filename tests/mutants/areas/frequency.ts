import type { Area } from "../change.ts";

export const frequency: Area = {
  name: "frequency",
  tests: ["tests/tools/compliance/frequency.test.ts", "tests/tools/campaigns/delivery/waiting.test.ts"],
  changes: {
    "tools/compliance/frequency.ts": [
      ["s.status = 'failed' and s.repeats and s.sent_at is null", "false"],
      ["sql`s.address_hash = c.phone_hash`,", ""],
      ["${own} and r.is_active and", "${own} and"],
      ["(r.tag is null or r.tag = any(${[...tags]}::text[]))", "r.tag is null"],
      ["and s.campaign_id is distinct from ${options.campaignId}::uuid", ""],
      ["${now} - c.span - interval '1 day'", "${now} - interval '1 day'"],
      ["'sent', 'delivered', 'bounced', 'unknown')", "'sent', 'delivered', 'bounced')"],
      ["('sending', 'sent',", "('sent',"],
      ["c.channel = 'any' and s.channel <> 'inbox'", "c.channel = 'any'"],
      ["s.channel in ('sms', 'voice'))", "s.channel in ('sms'))"],
      ["and (c.is_law or not exists (${campaign} and k.is_transactional))", ""],
      ["and c.tag = any(k.tags)", ""],
      ["when 'day' then 24", "when 'day' then 12"],
      ["offset c.max_sends - 1", "offset c.max_sends"],
      ["where w.ends > ${now}", ""],
      ["max(ends) as free_at", "min(ends) as free_at"],
      ["order by claimed_at desc offset", "order by claimed_at offset"],
      ["and coalesce(r.state, '') in ('', split_part(p.region, '-', 2))", ""],
      ["at time zone z.zone) + c.units) at time zone z.zone", ") + c.units)"],
    ],
    "tools/compliance/verdicts.ts": [["where not h.is_open or c.free_at is not null", "where not h.is_open"]],
  },
};
