import type { Area } from "../change.ts";

export const vendors: Area = {
  name: "vendors",
  tests: [
    "tests/tools/providers/callbacks.test.ts",
    "tests/runtime/channels/callbacks.test.ts",
    "tests/runtime/channels/sms/twilio.test.ts",
    "tests/tools/voice/engine.test.ts",
    "tests/tools/voice-calls",
  ],
  first: {
    "transports/app/callbacks.ts": "tests/tools/providers/callbacks.test.ts",
    "runtime/channels/sms/twilio-callbacks.ts": "tests/runtime/channels/sms/twilio.test.ts",
    "runtime/channels/email/sendgrid-callbacks.ts": "tests/runtime/channels/callbacks.test.ts",
    "transports/voice/dialogue.ts": "tests/tools/voice-calls/relay.test.ts",
    "tools/voice-calls/hear.ts": "tests/tools/voice-calls/relay.test.ts",
    "tools/voice/engine/heard.ts": "tests/tools/voice/engine.test.ts",
  },
  changes: {
    "transports/app/callbacks.ts": [
      ["if (isSigned) return;", "return;"],
      ['throw new Fault("unavailable", { cause, retryAfter: 60 });', "return;"],
    ],
    "runtime/channels/sms/twilio-callbacks.ts": [
      ["if (!given) return false;", "if (!given) return true;"],
      ["if (hash && !equal(", "if (false && !equal("],
      [".update(address + fields, ", ".update(address, "],
    ],
    "runtime/channels/email/sendgrid-callbacks.ts": [
      ["timestamp === undefined) return false;", "timestamp === undefined) return true;"],
      [".update(timestamp).update(body)", ".update(body)"],
    ],
    "tools/providers/notice.ts": [
      ['= ["inbound", "complained", "unsubscribed", "call"];', '= ["complained", "unsubscribed", "call"];'],
      ["= true\n    where property_id", "= false\n    where property_id"],
    ],
    "tools/providers/callbacks.ts": [
      ["where id = ${id} and kind = ${kind} and deleted_at is null", "where id = ${id} and kind = ${kind}"],
      [
        "await suppressAddresses(context, { id, channel, kind }, [...later, ...waiting].filter(isUrgent));",
        "await suppressAddresses(context, { id, channel, kind }, waiting);",
      ],
      [
        "await suppressAddresses(context, { id, channel, kind }, [...later, ...waiting].filter(isUrgent));",
        "await suppressAddresses(context, { id, channel, kind }, later.filter(isUrgent));",
      ],
    ],
    "transports/voice/dialogue.ts": [
      ['if (over === "refused" || (over && !isSaid(heard))) return;', "if (over) return;"],
      ['if (stops === "surely") await step({ kind: "speech", text });', ""],
      ['unfinished = stops === "perhaps" ? text : undefined;', "unfinished = undefined;"],
      ['if (heard.kind === "speech") unfinished = undefined;', ""],
      ["await weighUnfinished();\n        if (!over)", "if (!over)"],
    ],
    "tools/voice-calls/hear.ts": [
      [
        'if (call.status === "ended") return afterTheEnd(context, call, heard, stops);',
        'if (call.status === "ended") return NOTHING;',
      ],
      ["isMachine && !stops && heard", "isMachine && heard"],
      ["await revokeBySpeech(context, call, line);\n  return", "return"],
      ["if (stop) await revokeBySpeech(context, call, stop);", ""],
      ['heard.kind === "person" ? await isBarred(context, call) : false;', "false;"],
      ["if (!same) return true;", ""],
    ],
    "tools/voice/engine/heard.ts": [
      ['if (action === "stop" || action === "review") return true;', 'if (action === "stop") return true;'],
      ["words.length === 1 && NINE.has(words[0]!)", "false"],
      ["if (stops && !others.some(", "if (stops || !others.some("],
    ],
  },
};
