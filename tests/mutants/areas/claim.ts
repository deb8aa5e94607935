import type { Area } from "../change.ts";

export const claim: Area = {
  name: "claim",
  tests: [
    "tests/tools/campaigns/delivery/waiting.test.ts",
    "tests/tools/campaigns/delivery/outcomes.test.ts",
    "tests/tools/campaigns/delivery/unclear.test.ts",
    "tests/tools/campaigns/delivery/deliver-campaign.test.ts",
    "tests/tools/campaigns/variants/interrupted.test.ts",
    "tests/tools/providers/routes.test.ts",
    "tests/tools/sms/inbound.test.ts",
    "tests/tools/journeys/lifecycle.test.ts",
  ],
  first: {
    "tools/campaigns/delivery/claim.ts": "tests/tools/campaigns/delivery/waiting.test.ts",
    "tools/campaigns/delivery/due-sends.ts": "tests/tools/campaigns/delivery/waiting.test.ts",
  },
  unnoticeable: {
    "and s.id > ${NIL_UUID}":
      "A claimed send is due no more; the condition spares the claim to look at it again.",
    "when p.id is null then '{}'": "A send loses its player only when it is cancelled, and is not due then.",
  },
  changes: {
    "tools/campaigns/delivery/claim.ts": [
      ["campaign.is_transactional || campaign.ignore_frequency_cap", "campaign.is_transactional"],
      ["where status = 'sending' and version", "where version"],
      ["and version = ${campaign.version}\n", "\n"],
      ["(not has_hours or ${rules.hours}) and", ""],
      ["and (not has_caps or ${rules.caps})", ""],
      ["for update of s skip locked`;\n}", "`;\n}"],
      ["when p.id is null then '{erased}'", "when p.id is null then '{}'"],
      ["when ${hash} is distinct from s.address_hash then '{address_changed}'", ""],
      ["else ${gateReasons({ property, channel, at })}", "else '{}'::text[]"],
      ["where not w.is_open or w.is_capped`", "where w.is_capped`"],
      ["when j.verdict = '{needs_review}' then 'deferred'\n", "\n"],
      ["or w.skips then case", "then case"],
      ["case when j.repeats then 'unknown' else 'skipped' end", "'skipped'"],
      ["when w.send_id is not null then 'deferred'", ""],
      ["case when s.repeats then s.claimed_at else d.moment end", "d.moment"],
      ["Math.min(request.limit, room)", "request.limit"],
      ["+ interval '1 minute', ${now}", ", ${now}"],
    ],
    "tools/campaigns/delivery/due-sends.ts": [
      ["sql`and s.variant_id is not null`", "sql``"],
      ["and (not s.repeats or ${recognizes(provider, REMEMBERED_SINCE)})", ""],
      ["s.scheduled_for is null or s.scheduled_for <= ${now} or", "s.scheduled_for is null or"],
      ["or ${isExpired(campaign, { started, hours, now })})", ")"],
      ["and s.id > ${after ?? NIL_UUID}", "and s.id > ${NIL_UUID}"],
      ["journey_id ? sql`greatest(${started}, ${created})` : started", "started"],
      [
        "p.property_id = ${property.id} and ${hash} = k.address_hash`",
        "p.property_id = ${property.id} and false`",
      ],
      ["where id not in (select send_id from holders where id not in (select id from locked))", ""],
    ],
  },
};
