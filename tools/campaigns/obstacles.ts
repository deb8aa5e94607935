import type { Context } from "#runtime/context.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import { testTrouble } from "./ab-test.ts";
import { audienceSql } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import { plainLinks } from "./links.ts";
import { readiness } from "./readiness.ts";
import { renderSamples, type Sample } from "./samples.ts";

interface Obstacles {
  /** What sending refuses. */
  problems: FaultDetail[];
  /** What is wrong for some of the recipients, who alone get no message. */
  partial: FaultDetail[];
  samples: Sample[];
}

/**
 * What stands in the way of sending a campaign as it is now. The same list for who checks it, for who sends or
 * schedules it, and when it fires: what one calls a problem, none of the others lets pass.
 */
export async function obstacles(context: Context, campaign: Campaign): Promise<Obstacles> {
  const { content, problems } = await readiness(context, campaign);
  const all = [...problems, ...testTrouble(context, campaign), ...(await audienceTrouble(context, campaign))];
  if (!content || all.length > 0) return { problems: all, partial: [], samples: [] };
  const { samples, broken } = await renderSamples(context, campaign, content);
  const plain = samples.flatMap((sample) => plainLinks(bodiesOf(sample), context.config.baseUrl));
  // What links the message has by itself, its content has been asked for.
  const links = [...new Set(plain.map(({ body }) => body))].map((body) => {
    return { field: `body_${body}`, message: "a link that it takes from a player's data is not https" };
  });
  // What one player lacks costs that player's message alone; what all lack is the message's own fault.
  const isRendered = ({ variant_id }: { variant_id: string | null }) =>
    samples.some((sample) => sample.variant_id === variant_id);
  const faults = broken.filter((one) => !isRendered(one));
  return {
    problems: [...plainly(faults), ...links],
    partial: plainly(broken.filter(isRendered)),
    samples: campaign.ab_test ? firstOfEach(samples) : samples,
  };
}

function plainly(faults: readonly FaultDetail[]): FaultDetail[] {
  return faults.map(({ field, message }) => ({ field, message }));
}

/** One message a variant is enough to look at. */
function firstOfEach(samples: Sample[]): Sample[] {
  return samples.filter(
    ({ variant_id }, index) => samples.findIndex((one) => one.variant_id === variant_id) === index,
  );
}

/** The text beside HTML is made of it. */
function bodiesOf({ html, text }: Sample) {
  return html === null ? { text } : { html };
}

/** A segment that is gone, or rules that do not compile. */
async function audienceTrouble(context: Context, campaign: Campaign): Promise<FaultDetail[]> {
  try {
    await audienceSql(context, campaign, 0);
    return [];
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    return fault.details ?? [{ field: "segment_id", message: fault.message }];
  }
}
