import type { SendingChannel } from "#runtime/channels/channel.ts";
import { Fault, type FaultDetail } from "#runtime/faults.ts";
import { ownProviders } from "#tools/providers/choose.ts";
import { sendingChannelOf, unsendable } from "./addresses.ts";
import { hasAudience } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import type { Compile, Content, Setting } from "./content.ts";
import { emailContent } from "./email-content.ts";
import { inboxContent } from "./inbox-content.ts";
import { smsContent } from "./sms-content.ts";
import { contentOf } from "./variant-content.ts";

const CONTENTS: { [C in SendingChannel]: Compile<C> } = {
  email: emailContent,
  sms: smsContent,
  inbox: inboxContent,
};

/** What stands in the way of sending, a sentence a field; with the content, when nothing does. */
export type Readiness<C extends SendingChannel = SendingChannel> =
  | { content: Content<C>; problems: [] }
  | { content: null; problems: FaultDetail[] };

/** Whether the campaign can be sent as it is now. Looks at the database, at no provider. */
export async function readiness(context: Setting, campaign: Campaign): Promise<Readiness> {
  const channel = sendingChannelOf(campaign.channel);
  if (!channel) return { content: null, problems: [unsendable(campaign.channel)] };
  return readinessOn(channel, context, campaign);
}

/** As `readiness`, for a channel that is known. */
export async function readinessOn<C extends SendingChannel>(
  channel: C,
  context: Setting,
  campaign: Campaign,
): Promise<Readiness<C>> {
  const content = await contentOf(CONTENTS[channel], context, campaign);
  const { problems: unusable } = await ownProviders(context, channel, campaign.provider_id);
  const problems = [...audienceProblems(campaign), ...(Array.isArray(content) ? content : []), ...unusable];
  if (problems.length > 0 || Array.isArray(content)) return { content: null, problems };
  return { content, problems: [] };
}

/** One fault of all that stands in the way. */
export function notReady(problems: FaultDetail[]): Fault {
  const message = problems.map((problem) => `${problem.field}: ${problem.message}`).join("; ");
  return new Fault("invalid", { message, details: problems });
}

function audienceProblems(campaign: Campaign): FaultDetail[] {
  if (hasAudience(campaign)) return [];
  return [
    {
      field: "segment_id",
      message: 'the campaign has no audience; give segment_id, conditions, or audience: "all"',
    },
  ];
}
