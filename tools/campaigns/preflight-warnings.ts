import type { Context } from "#runtime/context.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";
import { lettersBeyondGsm } from "#tools/sms/segments.ts";
import { sendingChannelOf } from "./addresses.ts";
import type { Campaign } from "./campaign.ts";
import type { Sample } from "./samples.ts";

/** What vendors and carriers say of gambling, where no record says that they allow it, or where texts are concerned. */
export async function gamingTraffic(context: Context, campaign: Campaign): Promise<string[]> {
  const channel = sendingChannelOf(campaign.channel);
  if (!channel) return [];
  const { providers, problems } = await ownProviders(context, channel, campaign.provider_id);
  const configured = configuredProvider(context.config, channel).name;
  const own = providers.map(({ kind }) => kind);
  const kinds = own.length > 0 || problems.length > 0 ? own : [configured];
  const vendors = [...new Set(kinds)].filter((kind) => kind !== "mailbox").join(", ");
  if (vendors === "") return [];
  if (channel === "sms") {
    return [
      `${vendors}: most US carriers, and Twilio's own policy, forbid gambling content in texts; without their agreement texts are filtered and the account may be closed`,
    ];
  }
  return own.length > 0
    ? []
    : [`${vendors}: nothing says that the provider's contract allows gaming content`];
}

/** One letter outside GSM-7 more than halves what a segment holds. */
export function costlyLetters(samples: Sample[]): string[] {
  const letters = new Set(
    samples.flatMap(({ text, encoding }) => (encoding === "UCS-2" ? lettersBeyondGsm(text) : [])),
  );
  if (letters.size === 0) return [];
  return [`the text needs UCS-2, 70 characters a segment, because of: ${[...letters].join(" ")}`];
}

export function allSegments(samples: Sample[], messages: number): number | null {
  const counts = samples.flatMap(({ segments }) => segments ?? []);
  if (counts.length === 0) return null;
  return Math.ceil((counts.reduce((sum, count) => sum + count, 0) / counts.length) * messages);
}
