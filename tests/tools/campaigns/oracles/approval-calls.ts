import type { CallName } from "./approval-acts.ts";
import type { World } from "./approvals.ts";

export interface Made {
  list: string;
  out: string;
  inner: string;
  outer: string;
  journey: string;
}

type Input = Record<string, unknown>;
type Request = [operation: string, input: Input] | null;

const TIERS = ["Gold", "Silver", "Bronze"];
const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];
const live = (world: World) => world.players.filter((player) => player.live);

/** The operation and the input of a call, by two numbers; null where there is nothing to call it with. */
export function requestOf(
  name: CallName,
  { which, how }: { which: number; how: number },
  { world, made, propertyId, count }: { world: World; made: Made; propertyId: string; count: number },
): Request {
  const campaign = at(
    world.campaigns.filter((one) => one.live),
    which,
  );
  const player = at(live(world), which);
  const template = at(world.templates, which);
  const provider = at(world.providers, which);
  const segments = [made.outer, made.inner, made.list];
  const text = `Text ${count}`;
  const html = `<p>Body ${count}</p>`;
  const campaignId = campaign && { campaignId: campaign.id, propertyId };
  switch (name) {
    case "edit_campaign": {
      const changes: Input[] = [
        { subject: text },
        { subject: null },
        { body_html: html },
        { from_email: `from${count}@example.com` },
        { from_name: text },
        { template_id: template?.id ?? null },
        { segment_id: at(segments, which + how)!, audience: null },
        { audience: "all", segment_id: null },
        { exclude_segment_ids: which % 2 ? [made.out] : [] },
        { ignore_frequency_cap: which % 2 === 0, tags: [text] },
        { name: `Campaign ${count}`, priority: count % 1000 },
        { provider_id: provider?.id ?? null },
      ];
      return campaign ? ["update_campaign", { id: campaign.id, ...at(changes, how) }] : null;
    }
    case "edit_template": {
      const changes = [{ subject: text }, { html }, { name: `Template ${count}` }];
      return template ? ["update_template", { id: template.id, ...at(changes, how) }] : null;
    }
    case "edit_segment": {
      const tiers = TIERS.filter((_, index) => (how + 1) & (1 << index));
      const changes: Input[] = [
        {
          id: made.inner,
          conditions: [{ field: "tier", operator: "in", value: tiers.length ? tiers : TIERS }],
        },
        { id: made.outer, exclude_segment_ids: how % 2 ? [made.out] : [] },
        { id: at(segments, how), name: `Segment ${count}` },
      ];
      return ["update_segment", at(changes, which)!];
    }
    case "add_member":
      return player
        ? ["create_segment_member", { segment_id: how % 2 ? made.list : made.out, player_id: player.id }]
        : null;
    case "remove_member": {
      const member = at(world.members as { id?: string }[], which);
      return member ? ["delete_segment_member", { id: member.id }] : null;
    }
    case "create_player":
      return ["create_player", { email: `n${count}@example.com`, tier: at(TIERS, how) }];
    case "set_tier":
      return player ? ["update_player", { id: player.id, tier: at(TIERS, how) }] : null;
    case "agree":
    case "refuse":
      return player
        ? [
            "consent_record",
            {
              ...{ propertyId, playerId: player.id, channel: "email", consentGiven: name === "agree" },
              ...{
                consentSource: "desk",
                consentText: "I agree to offers",
                occurredAt: new Date().toISOString(),
              },
            },
          ]
        : null;
    case "delete_player":
      return player ? ["delete_player", { id: player.id }] : null;
    case "restore_player": {
      const gone = at(
        world.players.filter((one) => !one.live),
        which,
      );
      return gone ? ["restore_player", { propertyId, playerId: gone.id }] : null;
    }
    case "edit_provider": {
      if (how % 3 === 0 || !provider) {
        const own = { channel: "email", kind: "mailbox", allows_gaming: true, is_default: how % 2 === 0 };
        return [
          "create_message_provider",
          { ...own, name: `P${count}`, from_address: `p${count}@example.com` },
        ];
      }
      if (how % 3 === 1)
        return ["update_message_provider", { id: provider.id, from_address: `q${count}@example.com` }];
      return how % 2
        ? ["delete_message_provider", { id: provider.id }]
        : ["update_message_provider", { id: provider.id, is_default: true, rate_per_second: 1 + count }];
    }
    case "schedule":
      return campaign
        ? [
            "schedule_campaign",
            {
              campaign_id: campaign.id,
              segment_id: how % 3 === 0 ? at(segments, how)! : null,
              scheduled_at: new Date(Date.now() + (300 + how) * 86_400_000).toISOString(),
            },
          ]
        : null;
    case "send":
      return campaign ? ["send_campaign", campaignId!] : null;
    case "pause":
      return campaign ? ["pause_campaign", campaignId!] : null;
    case "resume":
      return campaign ? ["resume_campaign", campaignId!] : null;
    case "unschedule":
      return campaign ? ["unschedule_campaign", campaignId!] : null;
    case "cancel":
      return campaign && how % 3 === 0 ? ["cancel_campaign", campaignId!] : null;
    case "duplicate":
      return campaign ? ["duplicate_campaign", { ...campaignId, name: `Copy ${count}` }] : null;
    case "create_campaign":
      return [
        "create_campaign",
        { name: `Campaign ${count}`, subject: text, body_html: html, segment_id: at(segments, how) },
      ];
    case "delete_campaign":
      return campaign && how % 3 === 0 ? ["delete_campaign", { id: campaign.id }] : null;
    case "edit_journey":
      return [
        "update_journey",
        { id: made.journey, draft_definition: definition(made, { subject: text, body_html: html }) },
      ];
    case "publish":
      return ["publish_journey", { journeyId: made.journey, propertyId }];
    case "enroll":
      return player
        ? ["enroll_players", { journeyId: made.journey, propertyId, playerIds: [player.id] }]
        : null;
    case "report":
      return player ? ["create_player_event", { player_id: player.id, name: "visit" }] : null;
  }
}

/** A journey that writes to all who enter: by a call, by an event, and with a segment. */
export function definition({ inner }: Pick<Made, "inner">, message: object) {
  return {
    nodes: [
      { id: "call", type: "trigger", config: { on: "api" } },
      { id: "visit", type: "trigger", config: { on: "event", event: "visit" } },
      { id: "rise", type: "trigger", config: { on: "segment_enter", segment_id: inner } },
      { id: "mail", type: "message", config: { channel: "email", ...message } },
      { id: "end", type: "exit" },
    ],
    edges: [...["call", "visit", "rise"].map((from) => ({ from, to: "mail" })), { from: "mail", to: "end" }],
  };
}
