import type { Context } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { changeStatus } from "#tools/campaigns/campaign/states.ts";
import { unapproved } from "./approve.ts";

const MOST_CHARACTERS = 1000;

/** Pauses a locked campaign that is not what was approved. Answers whether it did. */
export async function holdIfChanged(context: Context, campaign: Campaign): Promise<boolean> {
  const changes = await unapproved(context, campaign);
  if (changes.length === 0) return false;
  const status_reason = `changed since it was approved: ${changes.join(", ")}`.slice(0, MOST_CHARACTERS);
  await changeStatus(context, campaign.id, "hold", { status_reason });
  return true;
}
