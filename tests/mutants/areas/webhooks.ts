import type { Area } from "../change.ts";

export const webhooks: Area = {
  name: "webhooks",
  tests: ["tests/tools/webhooks", "tests/runtime/secrets/signature.test.ts"],
  changes: {
    "tools/webhooks/attempt.ts": [
      ["status >= 200 && status < 300", "status >= 200 && status < 400"],
      ["const gone = status === 410;", "const gone = false;"],
      ["SCHEDULE[delivery.attempt_count + 1]", "SCHEDULE[delivery.attempt_count]"],
      ["[0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]", "[0, 5, 300, 1_800, 7_200, 18_000, 36_000]"],
      ["Math.max(jittered(next ?? 0), retryAfter)", "jittered(next ?? 0)"],
      ["status === 429 || status === 503 ? askedFor", "status === 429 ? askedFor"],
      ['gone || next === undefined ? "failed"', 'next === undefined ? "failed"'],
      ['known.name === "TimeoutError" || HANGS.has(code)', "HANGS.has(code)"],
      ["receiver.previous_secret !== null && {", "false && {"],
      ["eventBody(delivery, propertyId, receiver.include_pii)", "eventBody(delivery, propertyId, true)"],
      ["-Delivery`] = delivery.id;", "-Delivery`] = delivery.event_id;"],
    ],
    "tools/webhooks/visit.ts": [
      ["case when previous_secret_until > clock.now then previous_secret end", "previous_secret"],
      ["coalesce(resting_until > clock.now, false) as resting", "false as resting"],
      [
        "delivering_by <> ${jobId} and delivering_until > clock.now, false) as leased",
        "false, false) as leased",
      ],
      ["and d.id = r.id and d.status = 'pending'`", "and d.id = r.id`"],
      ["attempt_count = d.attempt_count + 1,", ""],
      ["and next_attempt_at <= statement_timestamp()\n", "\n"],
      ["and id not in (select unnest(${inFlight as string[]}::uuid[]))\n", "\n"],
      [
        "endpoint_id = ${endpointId} and status = 'pending'\n        and next",
        "status = 'pending'\n        and next",
      ],
      ["if (outcomes.some(({ receiver }) => receiver.gone)) return", "if (false) return"],
      ["const SWITCH_OFF_AFTER = 5 * 86_400;", "const SWITCH_OFF_AFTER = 50 * 86_400;"],
      [
        "if (well || (failing_for ?? 0) < SWITCH_OFF_AFTER) return null;",
        "if ((failing_for ?? 0) < SWITCH_OFF_AFTER) return null;",
      ],
      ["if (!endpoint.is_active) return await discard(context, visiting, unpacked);", ""],
      ["const goesOn = unpacked > 0 || !isOpen;", "const goesOn = !isOpen;"],
      ['unpacked > 0 || pending.length === DISCARD ? "now"', 'pending.length === DISCARD ? "now"'],
      ["and endpoint_id = ${endpointId}\n      order by id limit ${UNPACK}", "order by id limit ${UNPACK}"],
      ["if (!endpoint) return await remove(context, visiting, unpacked);", "if (!endpoint) return null;"],
      ['unpacked > 0 || left.length === DISCARD ? "now"', 'left.length === DISCARD ? "now"'],
      ["return next?.at ?? null;", "return null;"],
      ["order by due.next_attempt_at, due.id`", "order by due.id desc`"],
      ["!endpoint.leased_by_other && !visiting.handOver", "!endpoint.leased_by_other"],
      ["where e.id is null`", "where false`"],
    ],
    "tools/webhooks/posting.ts": [
      ["const CONCURRENCY = 16;", "const CONCURRENCY = 1;"],
      ["const HANGS_IN_A_ROW = 8;", "const HANGS_IN_A_ROW = 1;"],
      ["begun.size - overtaken() <", "begun.size <"],
      ["vain.rests || receiver.gone || receiver.retryAfter > 0", "vain.rests || receiver.gone"],
    ],
    "runtime/funnel/outbox.ts": [
      ['[type, `${type.split(".")[0]}.*`, "*"]', '[type, "*"]'],
      ["limit 1 for no key update skip locked) as waiting", "limit 1) as waiting"],
      ["merge_key = endpoint_id::text and state = 'ready'\n", "state = 'ready'\n"],
      ["        and run_at <= statement_timestamp()\n", ""],
      ["where waiting.id is null) as uncalled", "where true) as uncalled"],
      ["if (known) known.event_ids.push(event.id);", "if (known) continue;"],
      ["/ ${PART} as number", "% ${PART} as number"],
      ["and is_active and events && ${wanted}", "and events && ${wanted}"],
    ],
    "tools/webhooks/event-body.ts": [
      ["if (Array.isArray(value)) return value.map(thin) as T;", ""],
      ["Buffer.byteLength(whole) < MOST_BYTES", "whole.length < MOST_BYTES"],
      ["...(previous && { previous }) });\n  if", "});\n  if"],
    ],
    "tools/webhooks/replay-webhooks.ts": [
      ["set status = 'pending', attempt_count = 0,", "set status = 'pending',"],
      ["and endpoint_id = ${input.endpointId} and status = ${status}", "and status = ${status}"],
      ["created_at >= ${since} and created_at < ${until}", "created_at >= ${since}"],
      ["sql`and next_attempt_at > now()`", "sql``"],
    ],
    "tools/webhooks/redeliver-webhook.ts": [
      ["set status = 'pending', attempt_count = 0,", "set status = 'pending',"],
    ],
    "tools/webhooks/rotate-webhook-secret.ts": [
      ["overlap > 0 ? sql`secret` : null", "overlap > 0 ? sql`previous_secret` : null"],
    ],
    "tools/webhooks/endpoint.ts": [
      ["set resting_until = null\n", "set resting_until = resting_until\n"],
      ["if (!endpoint.is_active) {", "if (endpoint.is_active === null) {"],
    ],
    "tools/webhooks/webhook-endpoints.table.ts": [
      ["disabled_reason: null, failing_since: null", "disabled_reason: null"],
      [
        'if (verb !== "create" && concernsDelivery) enqueue',
        'if (verb === "create" && concernsDelivery) enqueue',
      ],
    ],
    "runtime/secrets/signature.ts": [
      ["const signed = `${timestamp}.${body}`;", "const signed = `${body}`;"],
      ["`${id}.${signed}`", "signed"],
      ['createSecretKey(secret, "utf8")', 'createSecretKey(secret.replace(/^whsec_/, ""), "utf8")'],
      ["const previous = keysOf(previousSecret);", "const previous = keysOf(secret);"],
    ],
  },
};
