import type { Area } from "../change.ts";

export const record: Area = {
  name: "record",
  tests: ["tests/tools/campaigns/delivery", "tests/tools/providers"],
  first: {
    "tools/campaigns/delivery/record-outcomes.ts": "tests/tools/campaigns/delivery/outcomes.test.ts",
    "tools/campaigns/delivery/batch.ts": "tests/tools/campaigns/delivery/vendor.test.ts",
  },
  changes: {
    "tools/campaigns/delivery/record-outcomes.ts": [
      ["const MOST_ATTEMPTS = 5;", "const MOST_ATTEMPTS = 6;"],
      ["o.status = 'sent' and s.sent_at is null as newly_sent", "o.status = 'sent' as newly_sent"],
      ["o.tried and not o.fatal and not o.busy as counts", "o.tried as counts"],
      ["and claimed_by = ${jobId}", ""],
      ["60 * 2 ^ attempts", "60"],
      ["coalesce(wait, case", "coalesce(null, case"],
      ["has_tries and ${repeatable} as again", "has_tries as again"],
      ["(has_tries or not counts) then 'pending'", "has_tries then 'pending'"],
      ["case when a.repeats then 'unknown' else 'failed' end", "'failed'"],
      ["when j.was <> 'sending' then j.was when", "when"],
      ["repeats = s.repeats or j.was = 'sending' and j.again", "repeats = s.repeats"],
      ["attempts = s.attempts + j.counts::int", "attempts = s.attempts"],
      ["sent_at = coalesce(s.sent_at, case", "sent_at = coalesce(null, case"],
      ["coalesce(s.provider_message_id, j.message_id)", "s.provider_message_id"],
      ["when j.was = 'sending' then j.code else s.error_code end", "else j.code end"],
      ['if (!stop || stop.channel === "inbox") return;', "return;"],
      [
        "recorded.filter(({ newly_sent }) => newly_sent)",
        'recorded.filter(({ status }) => status === "sent")',
      ],
      ["set errors_in_row = 0\n      where", "set errors_in_row = errors_in_row\n      where"],
      ["counted.errors <= counted.most", "counted.errors < counted.most"],
    ],
    "tools/campaigns/delivery/batch.ts": [
      ['code === "template_error"', 'code === "none"'],
      ["if (failed > 0) await countErrors", "if (failed > 9) await countErrors"],
      [
        'outcome.status === "retry" && outcome.fatal);\n',
        'outcome.status === "retry" && outcome.fatal && false);\n',
      ],
      ["if (refusal) await failRefused", "if (refusal && failed > 99) await failRefused"],
    ],
  },
};
