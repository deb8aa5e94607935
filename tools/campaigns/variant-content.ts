import type { SendingChannel } from "#runtime/channels/channel.ts";
import { type FaultDetail, invalid } from "#runtime/faults.ts";
import { withVariant } from "./ab-test.ts";
import type { Campaign } from "./campaign.ts";
import type { Compile, Content, Setting } from "./content.ts";

/** The content of a campaign: of all its variants, where it has some, each for the recipients that it was given to. */
export async function contentOf<C extends SendingChannel>(
  compile: Compile<C>,
  context: Setting,
  campaign: Campaign,
): Promise<Content<C> | FaultDetail[]> {
  if (!campaign.ab_test) return compile(context, campaign);
  const contents = new Map<string, Content<C>>();
  const problems: FaultDetail[][] = [];
  for (const variant of campaign.ab_test.variants) {
    const content = await compile(context, withVariant(campaign, variant));
    problems.push(Array.isArray(content) ? content : []);
    if (!Array.isArray(content)) contents.set(variant.id, content);
  }
  const found = named(problems);
  return found.length > 0 ? found : byVariant(contents);
}

/** What stands in the way of all variants once, and the rest by the variant that it is about. */
function named(problems: FaultDetail[][]): FaultDetail[] {
  const same = (one: FaultDetail, other: FaultDetail) =>
    one.field === other.field && one.message === other.message;
  const common = problems[0]!.filter((one) =>
    problems.every((list) => list.some((other) => same(one, other))),
  );
  const own = problems.flatMap((list, index) =>
    list
      .filter((one) => !common.some((other) => same(one, other)))
      .map(({ field, message }) => ({ field: variantField(index, field), message })),
  );
  return [...common, ...own];
}

/** A field of a variant's message, as problems name it. */
export function variantField(index: number, field: string): string {
  return `ab_test.variants.${index}.${field}`;
}

function byVariant<C extends SendingChannel>(contents: ReadonlyMap<string, Content<C>>): Content<C> {
  const [first] = contents.values();
  return {
    channel: first!.channel,
    variants: [...contents.keys()],
    messageTo: (recipient, link) => {
      const content = contents.get(String(recipient.variant_id));
      if (!content) throw invalid("variant_id", `the campaign has no variant ${recipient.variant_id}`);
      return content.messageTo(recipient, link);
    },
    // No variant has a sender of its own.
    sentBy: first!.sentBy,
    outgoing: async (setting) => {
      const outgoing = new Map<string, Content<C>>();
      for (const [id, content] of contents) {
        outgoing.set(id, (await content.outgoing?.(setting)) ?? content);
      }
      return byVariant(outgoing);
    },
  };
}
