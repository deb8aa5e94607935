import type { Area } from "../change.ts";

export const ledger: Area = {
  name: "ledger",
  tests: [
    "tests/tools/consent",
    "tests/tools/sms",
    "tests/tools/ledgers",
    "tests/tools/privacy/erasure.test.ts",
  ],
  unnoticeable: {
    "if (times!.future && false)":
      "The fields refuse a time in the future before; this guards against a wrong clock.",
  },
  changes: {
    "tools/consent/ledger.ts": [
      ["if (times!.future)", "if (times!.future && false)"],
      ["if (times!.reversed)", "if (times!.reversed && false)"],
      ["await refreshConsents(sql, property, act.playerIds);", ""],
      ["if (act.expiresAt !== undefined) expireLater", "if (act.expiresAt === null) expireLater"],
      ["filter (where consent_given and expires_at is not null)", "filter (where expires_at is not null)"],
      ['consent_given: act.action === "granted"', 'consent_given: act.action !== "revoked"'],
      [
        'createHash("sha256").update(act.text, "utf8")',
        'createHash("sha256").update(act.source ?? "", "utf8")',
      ],
      ["ip_address: act.ip ?? call.ip ?? null", "ip_address: act.ip ?? null"],
      ["user_agent: call.userAgent?.slice(0, 1000) ?? null", "user_agent: null"],
      ["address_hash: hashes[channel]", "address_hash: hashes.email"],
      [
        'actor.type === "anonymous" ? "player" : actor.type',
        'actor.type === "anonymous" ? "system" : actor.type',
      ],
    ],
    "tools/consent/refusal.ts": [
      ["where p.deleted_at is not null\n", "where false\n"],
      ["where action in ('denied', 'revoked')", "where action in ('revoked')"],
      ["and s.lifted_at is null\n", "\n"],
      ["coalesce(max(at) < ", "coalesce(max(at) <= "],
      ["if (isEarlier && isProven) return;", "if (isEarlier) return;"],
      [
        "order by c.player_id, c.occurred_at desc, c.consent_given",
        "order by c.player_id, c.occurred_at, c.consent_given",
      ],
      ["s.reason in ('unsubscribed', 'stop_keyword')", "s.reason in ('unsubscribed')"],
    ],
    "tools/consent/revoke.ts": [
      ["await suppress(context, revocation, rows);\n  await stopSends", "await stopSends"],
      ['await stopSends(context, playerIds, channels, "suppressed");', ""],
      ["await endWithout(context, playerIds, channels);", ""],
      ['? ["sms", "voice"] : [channel]', "? [channel] : [channel]"],
      ['if (future) throw invalid("requestedAt"', 'if (future && false) throw invalid("requestedAt"'],
      ["< 6\n", "< 7\n"],
      ["do update set expires_at = null,", "do update set"],
      ["and p.phone_hash = w.hash", "and false"],
      ["if (rows.length > 0) return;", "return;"],
    ],
    "tools/consent/in-force.ts": [
      ["and c.action <> 'expired'", ""],
      ["r.occurred_at desc, r.consent_given, r.id desc`", "r.occurred_at, r.consent_given, r.id`"],
      ["r.refusals > 0,", "r.refusals < 0,"],
      ["when r.channel = 'voice' and r.refusals = 0", "when false"],
      ["filter (where not c.consent_given)", "filter (where c.consent_given)"],
    ],
    "tools/ledgers/verify.ts": [
      ["when a.id is null then ${removal(chain, retired)}", "when false then 'row_removed'"],
      ["case when not ${isDropped", "case when true or ${isDropped"],
      ["when not a.intact then 'row_changed'", ""],
      ["when e.id is null and a.created_at <= closed.until then 'row_inserted'", ""],
      ["when a.record_hash <> e.hash then 'row_changed'", ""],
      ["and not coalesce(x.lawful, false) then 'row_blanked'", "and false then 'row_blanked'"],
      ["!linked || !keyed || !hash.equals(seal.seal_hash)", "!linked || !hash.equals(seal.seal_hash)"],
      ["if (!linked || !keyed", "if (!keyed"],
      ["if (wanted > found) return", "if (wanted > found + 9) return"],
      ['last.seal_hash.toString("hex") !== head.hash', "false"],
      ["num_nonnulls(t.salt, ${join(personal)}) = 0", "true"],
      ['and l.detail_hash = ${detailHash("audit_logs", "l")}', ""],
      ["seal.seq !== wanted ||", ""],
    ],
    "tools/ledgers/seals.ts": [
      ["seq, from_at, to_at, previous_hash?.toString", "seq, from_at, previous_hash?.toString"],
      [".update(row_ids.join())", ""],
      ["for (const row of row_hashes) hash.update(row);", ""],
      ["offset ${most - 1} limit 1), ${horizon})", "offset ${most - 1} limit 1), 'infinity')"],
    ],
  },
};
