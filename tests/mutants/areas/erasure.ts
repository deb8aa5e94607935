import type { Area } from "../change.ts";

export const erasure: Area = {
  name: "erasure",
  tests: [
    "tests/tools/privacy",
    "tests/tools/ledgers/ledgers.test.ts",
    "tests/tools/compliance/sends-under-way.test.ts",
    "tests/tools/player-merge",
    "tests/tools/journeys/lifecycle.test.ts",
  ],
  first: {
    "tools/privacy/data-deletion.ts": "tests/tools/privacy/erasure.test.ts",
    "tools/privacy/erase.ts": "tests/tools/privacy/others.test.ts",
    "tools/privacy/request.ts": "tests/tools/privacy/erasure.test.ts",
    "tools/privacy/finish-erasure.job.ts": "tests/tools/privacy/canary.test.ts",
  },
  changes: {
    "tools/privacy/data-deletion.ts": [
      ["if (requestedBy !== undefined) await checkUser(context, requestedBy);", ""],
      ["await lockImports(context);", ""],
      ['if (player.status === "erased") return await formerResult(context, player.id);', ""],
      ['if (player.legal_hold) throw new Fault("legal_hold");', ""],
      ['await stopSends(context, [player.id], CHANNELS, "erased", { withinMs: SETTLED_WITHIN_MS });', ""],
      ["await stopSharersSends(context, all);", ""],
      ['await endFor(context, [person.id], "erased");', ""],
      [
        "for (const record of further) all.ownHashes.push(...(await eraseFurther(context, record, erased)));",
        "",
      ],
      ["await lockPlayerWrites(context);", ""],
      ["const shared_with = await sharersOf(context, all);", "const shared_with: string[] = [];"],
      ['emit("player.erased", { id: player.id, request_id: requestId });', ""],
      [
        "enqueue(finishErasure, { playerId: player.id, hashes: person.hashes }, { runAt: LATE_SECONDS });\n    audit",
        "audit",
      ],
      ["diff: { player_id: player.id, blanked, deleted", "diff: { player_id: player.id, deleted"],
    ],
    "tools/privacy/erase.ts": [
      ["await suppressErased(erasure);", ""],
      ["await refuseFormer(erasure);", ""],
      ['if ("erased_by" in set) erased.blanked', "if (false) erased.blanked"],
      ["'all', decode(h, 'hex'), 'erased'", "'email', decode(h, 'hex'), 'erased'"],
      ['(isEmail ? ["email"] : ["sms", "voice"])', '(isEmail ? ["email"] : ["sms"])'],
    ],
    "tools/privacy/request.ts": [
      ["and status in ('received', 'verifying', 'processing')", "and status in ('processing')"],
      ["requested_by = ${requestedBy}, updated_at", "updated_at"],
    ],
    "tools/privacy/finish-erasure.job.ts": [
      ["if (open.length > 0) context.enqueue", "if (open.length > 99) context.enqueue"],
      [
        "await recordPass(context, pass, await eraseTraces(context, person, pass));\n      const open",
        "await eraseTraces(context, person, pass);\n      const open",
      ],
    ],
  },
};
