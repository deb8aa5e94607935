import { isDeepStrictEqual } from "node:util";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { Fault, type FaultDetail, invalid } from "#runtime/faults.ts";
import { type AbTest, hasRest, type Variant } from "#tools/campaigns/campaign/ab-test.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { parseField } from "#tools/templates/rendering/liquid.ts";
import type { Compile, CompileContext, Content } from "./content.ts";

/** Compiles the content of each variant of a campaign's test. */
export async function compileVariants<C extends SendingChannel>(
  compile: Compile<C>,
  context: CompileContext,
  campaign: Campaign,
  { variants }: AbTest,
): Promise<Content<C> | FaultDetail[]> {
  const contents = new Map<string, Content<C>>();
  const problems: FaultDetail[][] = [];
  for (const variant of variants) {
    const content = await compile(context, withVariant(campaign, variant));
    problems.push(Array.isArray(content) ? content : []);
    if (!Array.isArray(content)) contents.set(variant.id, content);
  }
  const merged = mergedProblems(problems);
  return merged.length > 0 ? merged : byVariant(contents);
}

/** The campaign as one variant has it. */
export function withVariant(campaign: Campaign, { subject, template_id }: Variant): Campaign {
  return {
    ...campaign,
    ab_test: null,
    subject: subject ?? campaign.subject,
    template_id: template_id ?? campaign.template_id,
  };
}

/** Names problems of all variants once, and the others by their variant. */
function mergedProblems(problems: FaultDetail[][]): FaultDetail[] {
  const isSame = (one: FaultDetail, other: FaultDetail) =>
    one.field === other.field && one.message === other.message;
  const common = problems[0]!.filter((one) =>
    problems.every((list) => list.some((other) => isSame(one, other))),
  );
  const own = problems.flatMap((list, index) =>
    list
      .filter((one) => !common.some((other) => isSame(one, other)))
      .map(({ field, message }) => ({ field: variantField(index, field), message })),
  );
  return [...common, ...own];
}

/** A field of a variant's message, as problems name it. */
export function variantField(index: number, field: string): string {
  return `ab_test.variants[${index}].${field}`;
}

function byVariant<C extends SendingChannel>(contents: ReadonlyMap<string, Content<C>>): Content<C> {
  const [first] = contents.values();
  return {
    channel: first!.channel,
    variants: [...contents.keys()],
    variables: [...new Set([...contents.values()].flatMap(({ variables }) => variables))],
    messageTo: (recipient, link) => {
      const content = contents.get(String(recipient.variant_id));
      if (!content) throw invalid("variant_id", `the campaign has no variant ${recipient.variant_id}`);
      return content.messageTo(recipient, link);
    },
    // No variant has a sender of its own.
    sentBy: first!.sentBy,
    outgoing: async (context) => {
      const outgoing = new Map<string, Content<C>>();
      for (const [id, content] of contents) {
        outgoing.set(id, (await content.outgoing?.(context)) ?? content);
      }
      return byVariant(outgoing);
    },
  };
}

/** Refuses a test that does not fit the campaign's other columns. */
export function checkAbTest(next: Partial<Campaign> & { ab_test: AbTest }): void {
  const { channel, goal, ab_test: test } = next;
  if ((test.metric === "open" || test.metric === "click") && channel !== "email") {
    throw invalid("ab_test.metric", "only emails count opens and clicks; use conversion or redeem");
  }
  if (test.metric === "conversion" && !goal) {
    throw invalid("ab_test.metric", "conversion needs the campaign's goal: the event that it counts");
  }
  if (next.send_in_player_timezone && hasRest(test)) {
    throw invalid(
      "send_in_player_timezone",
      "players that wait for the winner of a test cannot get it at their own hour; set test_percent to 100",
    );
  }
  for (const [index, variant] of test.variants.entries()) checkVariant(next, variant, index);
}

function checkVariant(next: Partial<Campaign>, { subject, template_id }: Variant, index: number): void {
  if (subject && next.channel === "sms") {
    throw invalid(variantField(index, "subject"), "a text message has none");
  }
  if (subject) parseField(variantField(index, "subject"), subject, "text");
  const hasBody = [next.body_html, next.body_mjml, next.body_text].some((body) => typeof body === "string");
  if (template_id && hasBody) {
    const message = "the campaign has a body of its own, which goes before templates";
    throw invalid(variantField(index, "template_id"), message);
  }
}

/** Refuses another test than the one of the drawn recipients: only the content of its variants can change. */
export function checkSameTest(before: AbTest | null, after: AbTest | null): void {
  const drawing = (test: AbTest | null) =>
    test && {
      ...test,
      fallback_variant_id: test.fallback_variant_id ?? null,
      variants: test.variants.map(({ id, weight }) => ({ id, weight })),
    };
  if (isDeepStrictEqual(drawing(before), drawing(after))) return;
  throw new Fault("conflict", {
    message:
      "The campaign is paused: in ab_test only the subjects, templates and names of its variants can change now.",
  });
}
