import type { Area } from "../change.ts";

export const gate: Area = {
  name: "gate",
  tests: [
    "tests/tools/compliance/gate.test.ts",
    "tests/tools/compliance/compliance-check.test.ts",
    "tests/tools/compliance/lists.test.ts",
    "tests/tools/compliance/dnc-entries.test.ts",
    "tests/tools/games/barred.test.ts",
  ],
  first: { "tools/statuses/players.ts": "tests/tools/games/barred.test.ts" },
  unnoticeable: {
    "(x.ends_at is null":
      "Nobody can write an exclusion that starts later: create_self_exclusion refuses it.",
  },
  changes: {
    "tools/statuses/players.ts": [
      ['BARRED_STATUSES = [...KEPT_BY_NUMBER, "erased"]', "BARRED_STATUSES = [...KEPT_BY_NUMBER]"],
    ],
    "tools/compliance/gate.ts": [
      ["::timestamptz <= ${now}`;", "::timestamptz < ${now}`;"],
      ["years => ${min_age}::int", "years => ${min_age}::int - 1"],
      [
        'channel === "sms" || channel === "voice";\n  const unreachable',
        'channel === "sms";\n  const unreachable',
      ],
      ['banned: status("banned")', 'banned: status("vip_hold")'],
      ["p.deleted_at is not null`", "p.deleted_at is null and false`"],
      ['erased: any([status("erased"), ...hashes.map(lists.erased)])', 'erased: any([status("erased")])'],
      ["(${noConsent(options)}) or ${expired}", "(${noConsent(options)})"],
      [
        '[status("self_excluded"), lists.excludedPlayer, ...hashes.map(lists.excluded)]',
        '[status("self_excluded"), ...hashes.map(lists.excluded)]',
      ],
      [
        "any([lists.suppressedPlayer, ...hashes.map(lists.suppressed)])",
        "any([...hashes.map(lists.suppressed)])",
      ],
      ["p.birth_date > ${youngest}", "p.birth_date >= ${youngest}"],
      ["p.email is null or p.email_status = 'undeliverable'", "p.email is null"],
      ["is distinct from 'true'`", "= 'false'`"],
      ['property.email_consent_mode === "opt_out"', 'property.email_consent_mode !== "opt_out"'],
      ["and s.lifted_at is null", ""],
      ["s.expires_at is null or s.expires_at > ${now}) and", "s.expires_at > ${now}) and"],
      ["and (d.expires_at is null or d.expires_at > ${now}) and ${more}", "and ${more}"],
      ["s.channel in ('${channel}', 'all')", "s.channel in ('${channel}')"],
      ["'needs_review')`,\n      ),", "'needs_review', 'complaint')`,\n      ),"],
      ["'hard_bounce', 'soft_bounce_limit', 'invalid', 'needs_review'", "'needs_review'"],
      ["x.starts_at <= ${now} and (x.ends_at is null", "(x.ends_at is null"],
      ["(x.ends_at is null or x.ends_at > ${now})", "x.ends_at is null"],
      ["and o.${shared.bars}`", "`"],
      ["raw(`not p.${shared.bars}`)", "raw(`true`)"],
      ["d.list <> 'reassigned'`", "d.list <> 'federal'`"],
      ["dnc(hash, sql`d.list = 'reassigned'`)", "dnc(hash, sql`false`)"],
      ["no_consent: sql`true`,", ""],
      ["self_excluded: lists.excluded(hash),", ""],
    ],
    "tools/compliance/verdicts.ts": [
      ["cardinality(f.reasons) desc", "cardinality(f.reasons)"],
      ["when a.player is not null then array['no_consent']", "when a.player is not null then '{}'"],
      ["and (p.deleted_at is null or p.status = 'erased')", ""],
    ],
  },
};
