import type { Area } from "../change.ts";

export const confirmations: Area = {
  name: "confirmations",
  tests: [
    "tests/transports/mcp/confirm.test.ts",
    "tests/transports/mcp/protections.test.ts",
    "tests/tools/campaigns/approval",
    "tests/tools/approvals/agents-reports.test.ts",
    "tests/tools/games/approval.test.ts",
    "tests/transports/mcp/journeys.test.ts",
  ],
  first: {
    "runtime/funnel/confirmations.ts": "tests/transports/mcp/confirm.test.ts",
    "transports/mcp/calls/confirm.ts": "tests/transports/mcp/confirm.test.ts",
    "runtime/operation/property.ts": "tests/tools/campaigns/approval/growth.test.ts",
    "runtime/funnel/review.ts": "tests/tools/campaigns/approval/growth.test.ts",
    "tools/campaigns/approval/watch-audiences.ts": "tests/tools/campaigns/approval/agents.test.ts",
    "tools/approvals/lists.ts": "tests/tools/campaigns/approval/agents.test.ts",
    "tools/games/activation/keep-players.ts": "tests/tools/games/approval.test.ts",
    "tools/approvals/approval.ts": "tests/tools/campaigns/approval/time.test.ts",
    "tools/campaigns/approval/approve.ts": "tests/tools/campaigns/approval/growth.test.ts",
    "tools/campaigns/approval/prints.ts": "tests/tools/campaigns/approval/time.test.ts",
    "tools/players/weakening.ts": "tests/transports/mcp/protections.test.ts",
    "tools/people/shown-texts.ts": "tests/transports/mcp/protections.test.ts",
    "tools/journeys/publishing/entry-segments.ts": "tests/transports/mcp/journeys.test.ts",
    "tools/enrollments/ask.ts": "tests/tools/approvals/agents-reports.test.ts",
  },
  unnoticeable: {
    ")": "Only preflight_campaign confirms other operations, and its tokens are bound to what it has shown.",
  },
  changes: {
    "runtime/funnel/confirmations.ts": [
      [
        'if (actor.type === "api_key" && actor.agentConfirmation === "off") return false;',
        'if (actor.type === "api_key") return false;',
      ],
      ['return property?.agent_confirmation !== "off";', "return true;"],
      ["and used_at is null and expires_at", "and expires_at"],
      ["and expires_at > statement_timestamp()\n", "\n"],
      ["(tool = ${operation.name} and arguments_hash", "(arguments_hash"],
      ["and arguments_hash = ${argumentsHash}", ""],
      ["and bound is not null)", ")"],
      ["set used_at = statement_timestamp()", "set used_at = null"],
      ["if (!agentCall.call.idempotency) return null;", "return null;"],
    ],
    "transports/mcp/calls/confirm.ts": [
      ['if (human?.answer === "no") {', "if (false) {"],
      ["if (human.token !== undefined) await endConfirmation(asked, human.token);", ""],
      ["if (token === undefined) return show(asking);", ""],
      ["input: { dry_run: _, ...input } }: AgentCall): Buffer", "input }: AgentCall): Buffer"],
      ['said.action === "accept" && said.content?.[ANSWER] === true;', 'said.action === "accept";'],
      ["preview.preflight.ok === false", "preview.preflight.ok === null"],
      ["bound: tried.asked?.state ?? null,", "bound: null,"],
      ["const { success: _, ...rest } = preview;", "const rest = preview;"],
      ["{ ...call, mustAsk: true },", "call,"],
    ],
    "runtime/operation/property.ts": [
      ["present > approved * (1 + property.approval_growth_percent / 100)", "false"],
    ],
    "runtime/funnel/review.ts": [
      ["return property !== null && !hasOutgrown(property, shown, players);", "return true;"],
    ],
    "tools/campaigns/approval/watch-audiences.ts": [
      ["if (joined.length > 0) askAboutJoining(context, campaign, joined);", ""],
      ["campaign.id).filter(shown);", "campaign.id);"],
      ["came.length - went.length", "came.length"],
    ],
    "tools/approvals/lists.ts": [
      ["status in (${literals(LIVE_GAMES)})", "false"],
      ["status in ('scheduled', 'queued', 'paused')", "false"],
    ],
    "tools/games/activation/keep-players.ts": [
      ["if (changes.length > 0) await approveAnew", "if (false) await approveAnew"],
      ['state: canonicalHash({ id: game.id, prints }).toString("hex"),', ""],
    ],
    "tools/approvals/approval.ts": [
      ['if (approved === null) return ["nobody has approved it"];', "if (approved === null) return [];"],
      ["before[name]?.hash === fields[name]?.hash ? []", "true ? []"],
      ["[...new Set([...Object.keys(before), ...Object.keys(fields)])]", "Object.keys(fields)"],
      ["[...ids.map(segmentKey), UNREADABLE]", "ids.map(segmentKey)"],
    ],
    "tools/campaigns/approval/approve.ts": [
      ["if (changes.length === 0) return false;", "return false;"],
      ["numbers.length > 0 ? Math.min(...numbers) : count", "count"],
      ["const numbers = [shown, checked]", "const numbers = [checked]"],
      ["const numbers = [shown, checked]", "const numbers = [shown]"],
      ["canonicalHash({ id: campaign.id, prints, lists })", "canonicalHash({ id: campaign.id, prints })"],
    ],
    "tools/campaigns/approval/prints.ts": [
      ['body_text: "the text",\n', ""],
      ['exclude_segment_ids: "the segments that are left out",\n', ""],
      [
        'audience: { ...part("audience"), ...(await ruleFields(context, campaign)) }',
        'audience: part("audience")',
      ],
      [
        'content: { ...part("content"), ...house, ...(await templateFields(context, campaign)) }',
        'content: { ...part("content"), ...house }',
      ],
      ['...part("content"), ...house,', '...part("content"),'],
    ],
    "tools/players/weakening.ts": [
      ["if (others.count < MOST_UNASKED) return [];", "return [];"],
      ["and entity_id <> ${changing.current.id} and", "and"],
      ["if (!contact) return [];", "return [];"],
    ],
    "tools/people/shown-texts.ts": [
      ['.normalize("NFKC")', ""],
      ['PHONE.test(text) ? "a phone number" : null', "null"],
    ],
    "tools/journeys/publishing/entry-segments.ts": [
      [
        "if (!(await standsOn(sql, property.id, segment, ids))) continue;",
        "if (!ids.includes(segment)) continue;",
      ],
      ["askBeforeMoving(context, {\n      cause", "((_: unknown, __: object) => {})(context, {\n      cause"],
    ],
    "tools/enrollments/ask.ts": [
      ["if (moved === 0 || !isAsked(context.call)) return;", "if (!isAsked(context.call)) return;"],
      ["ask?.({ sentences: () => [sentence], reach: UNBOUNDED });", ""],
    ],
  },
};
