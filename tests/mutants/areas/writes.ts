import type { Area } from "../change.ts";

export const writes: Area = {
  name: "writes",
  tests: [
    "tests/tools/segments/used-segments.test.ts",
    "tests/tools/segments/members.test.ts",
    "tests/tools/segments/refresh-segment.test.ts",
    "tests/tools/journeys/used-records.test.ts",
    "tests/tools/providers/routes.test.ts",
    "tests/tools/campaigns/variants/content.test.ts",
    "tests/transports/mcp/journeys.test.ts",
    "tests/contract/http/unchanged.test.ts",
    "tests/transports/rest/routes.test.ts",
    "tests/transports/rest/postgrest.test.ts",
    "tests/tools/players",
  ],
  first: {
    "tools/uses/refuse-used.ts": "tests/tools/journeys/used-records.test.ts",
    "tools/statuses/campaigns.ts": "tests/tools/segments/used-segments.test.ts",
    "tools/statuses/games.ts": "tests/tools/segments/used-segments.test.ts",
    "tools/segment-lists/add-segment-members.ts": "tests/tools/segments/members.test.ts",
    "tools/segment-lists/chosen-players.ts": "tests/tools/segments/members.test.ts",
    "tools/segment-lists/remove-segment-members.ts": "tests/tools/segments/members.test.ts",
    "runtime/together.ts": "tests/tools/players/arrays.test.ts",
    "runtime/operation/crud.ts": "tests/contract/http/unchanged.test.ts",
  },
  changes: {
    "tools/uses/refuse-used.ts": [
      [
        "(${version} = j.current_version or exists (",
        "(${version} = j.current_version or false and exists (",
      ],
      ["and e.version = ${version}\n        and e.status = 'active')))", "and e.version = ${version})))"],
      ["j.status in ('active', 'paused')", "j.status in ('active')"],
      ["(u.segment_id = ${id} or ${id} = any(u.exclude_segment_ids)\n", "(u.segment_id = ${id}\n"],
      ["or position(${named} in lower(u.conditions::text)) > 0)`", ")`"],
      [", u.referred -> 'segments')", ")"],
      ["where v ->> 'template_id' = ${used.id}", "where false"],
      ["position(${used.id} in lower(${named})) > 0`", "position(${used.id} in ${named}) > 0`"],
    ],
    "tools/statuses/campaigns.ts": [
      ['BEGUN_CAMPAIGNS = ["queued", "sending", "paused"]', 'BEGUN_CAMPAIGNS = ["queued", "sending"]'],
      ['["scheduled", ...BEGUN_CAMPAIGNS] as const', "[...BEGUN_CAMPAIGNS] as const"],
    ],
    "tools/statuses/games.ts": [['LIVE_GAMES = ["active", "paused"]', 'LIVE_GAMES = ["active"]']],
    "tools/segment-lists/add-segment-members.ts": [
      ["await behind([...players, ...entries.map(({ id }) => id)]);", ""],
      ["await askAboutMoves(context, added);", ""],
      ["await askAboutMoves(context, added);", "await askAboutMoves(context, players);"],
      ["enqueue(refreshSegment, { segmentId }, { dedupe: segmentId });", ""],
    ],
    "tools/segment-lists/chosen-players.ts": [
      ["${chosen} and p.deleted_at is null`", "${chosen}`"],
      ["if (found.length > MOST_PLAYERS) {", "if (found.length < 0) {"],
      ["playerIds?.map((id) => id.toLowerCase())", "playerIds"],
      ["if (missing.length > 0) throw unknown(", "if (missing.length > 9) throw unknown("],
    ],
    "tools/segment-lists/remove-segment-members.ts": [
      ["await behind(players);", ""],
      ["await askAboutMoves(context, removed);", ""],
      ["enqueue(refreshSegment, { segmentId }, { dedupe: segmentId });", ""],
    ],
    "runtime/together.ts": [
      [
        "if (error instanceof Fault) return { done, refusal: error };",
        "if (error instanceof Fault) return { done };",
      ],
      ["if (!one) throw refusal;", "if (!one) return null;"],
      ["failed < 0 || index === failed", "failed < 0"],
      ["failed < 0 ? finish(one.value, index) : null", "finish(one.value, index)"],
      ['&& !isSqlState(one.reason, "25P02")', ""],
    ],
    "runtime/operation/crud.ts": [
      [
        "const refusal = checked.refusal ?? values.refusal ?? changes.refusal;",
        "const refusal = changes.refusal ?? values.refusal ?? checked.refusal;",
      ],
      ["if (current && isVersioned(table)) checkUnchanged(", "if (false) checkUnchanged("],
      ["values: current && changesNothing(change, one) ? null : one", "values: one"],
    ],
  },
};
