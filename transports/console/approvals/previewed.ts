import type { Variants } from "#transports/console/preview/chosen.ts";
import type { Preview } from "#transports/console/preview/message.ts";

/** The answer of preview_proposal. */
export interface Previewed {
  proposal: {
    id: string;
    status: string;
    tool: string;
    title: string;
    input: Record<string, unknown>;
    sentences: string[];
    reasons: string[];
    shown_hash: string;
    proposed_by: { type: string; id: string | null };
    client: string | null;
    reason: string | null;
    result: { entity: string | null; entity_id: string | null } | null;
    decided_by_email: string | null;
    decided_at: string | null;
    expires_at: string;
    created_at: string;
  };
  preview: Tried | null;
  /** The message as the call would leave it, of a campaign or of a journey. A journey names its messages. */
  shown: (Preview & { node?: string | null; nodes?: string[] }) | null;
  stale: string[];
  needs_another: boolean;
}

/** The call's own dry run: a check, or a record as it would be. */
export interface Tried {
  preflight?: Preflight;
  ab_test?: { variants: Variants } | null;
  campaign?: { ab_test?: { variants: Variants } | null };
  subject?: string | null;
  html?: string | null;
  text?: string | null;
}

export interface Preflight {
  warnings: string[];
  audience: number;
  blocked: Record<string, number>;
  allowed: number;
  estimated_cost: { amount: number | null; currency: string | null } | null;
  sample_renders: { player_id: string; to: string; subject: string | null }[];
}
