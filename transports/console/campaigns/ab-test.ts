import { html } from "hono/html";
import { type AbResult, type AbTest, hasRest, type METRICS } from "#tools/campaigns/campaign/ab-test.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  actButton,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  tried,
} from "#transports/console/fields.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { count, timeOf } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const PART = "/console/campaigns";
/** The form's rows. A program can give ten. */
const LETTERS = ["a", "b", "c", "d"] as const;
type Metric = keyof typeof METRICS;
const METRIC_WORDS: Record<Metric, string> = {
  open: "opens by people",
  click: "clicks by people",
  conversion: "players who reach the goal",
  redeem: "redeemed offers",
};

/** The form of a campaign's test, folded away where there is none. */
export function abTestForm(desk: Desk, campaign: Row, templates: readonly Row[], again?: Filled): Html {
  const test = campaign.ab_test as AbTest | null;
  const filled = again ?? { values: flat(campaign) };
  const path = `${PART}/${campaign.id}/ab-test`;
  const fitting = templates
    .filter(({ channel }) => channel === campaign.channel)
    .map((one): Option => [String(one.id), String(one.name)]);
  const metrics = Object.entries(METRIC_WORDS).map(([name, text]): Option => [name, text]);
  const fields = (...letters: string[]) =>
    letters.map((letter) => variantFields(filled, letter, { channel: campaign.channel, templates: fitting }));
  const numbers = html`<div class="row">${input(filled, { name: "test_percent", label: "Share that tries it, in %", type: "number", isRequired: true, hint: "The rest waits for the winner" })}${input(filled, { name: "duration_minutes", label: "Wait before the winner, in minutes", type: "number", isRequired: true })}${input(filled, { name: "min_sample", label: "Least messages of each", type: "number", isRequired: true, hint: "With fewer, the first variant wins" })}</div>`;
  const goal = html`<div class="row">${input(filled, { name: "goal_event", label: "Goal: the event", most: 60, hint: "Where the winner is who reached the goal, such as visit" })}${input(filled, { name: "goal_hours", label: "Within, in hours", type: "number" })}</div>`;
  const form = formOf(desk, {
    action: path,
    filled,
    content: html`${fields("a", "b")}<details><summary>More variants</summary>${fields("c", "d")}</details>${select(filled, { name: "metric", label: "The winner has the most", options: metrics })}${numbers}${goal}<div class="acts"><button>Save the test</button></div>`,
  });
  const remove = test ? actButton(desk, `${path}/remove`, "Remove the test", "plain-button") : "";
  const isOpen = test !== null || again !== undefined;
  return html`<details class="ab-test"${isOpen ? html` open` : ""}><summary>A/B test</summary><p class="soft">A share of the audience tries variants. The rest gets the one that does best.</p>${form}${remove}</details>`;
}

/** Keeps the test. A fault shows the form again. */
export function saveAbTest(desk: Desk, again: (filled: Filled) => Promise<Response>): Promise<Response> {
  const id = desk.c.req.param("id")!;
  return tried(
    async () => {
      await desk.run("update_campaign", { id, ...testIn(desk.form) });
      return redirect(`${PART}/${id}`);
    },
    (fault) => again({ values: desk.form, fault }),
  );
}

export async function removeAbTest(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  await desk.run("update_campaign", { id, ab_test: null });
  return redirect(`${PART}/${id}`);
}

/** The state of a test in one sentence: it runs, or which variant has won and why. */
export function abTestSentence(desk: Desk, campaign: Row): Html | "" {
  const test = campaign.ab_test as AbTest | null;
  if (!test) return "";
  const { timezone } = desk.property;
  const result = campaign.ab_result as AbResult | null;
  const nameOf = (id: string) => test.variants.find((one) => one.id === id)?.name || id;
  if (!result) {
    const ends = campaign.ab_ends_at
      ? html` The winner is chosen ${timeOf(String(campaign.ab_ends_at), timezone)}.`
      : "";
    return html`<p class="soft">${test.test_percent} % of the audience try ${test.variants.length} variants.${ends}</p>`;
  }
  const why = {
    best: "has the best rate",
    tie: "wins a tie",
    too_few: "wins, because a variant has too few messages",
  };
  const rates = result.variants.map(
    ({ id, sample, count: reached }) => `${nameOf(id)} ${count(reached)} of ${count(sample)}`,
  );
  const rest = hasRest(test) ? " The rest of the audience gets it." : "";
  return html`<p><b>${nameOf(result.winner_id)}</b> ${why[result.reason]}: ${rates.join(", ")}.${rest} Chosen ${timeOf(result.decided_at, timezone)}.</p>`;
}

function variantFields(
  filled: Filled,
  letter: string,
  { channel, templates }: { channel: unknown; templates: readonly Option[] },
): Html {
  const hasSubject = channel !== "sms" && channel !== "voice";
  const subject = hasSubject
    ? input(filled, {
        name: `${letter}.subject`,
        label: "Subject or title",
        most: 500,
        hint: "Empty: the campaign's",
      })
    : "";
  const template =
    templates.length === 0
      ? ""
      : select(filled, {
          name: `${letter}.template_id`,
          label: "Template",
          options: [["", "The campaign's"], ...templates],
        });
  return html`<fieldset><legend>Variant ${letter.toUpperCase()}</legend><div class="row">${input(filled, { name: `${letter}.name`, label: "Name", most: 200 })}${subject}${template}${input(filled, { name: `${letter}.weight`, label: "Parts of the split", type: "number" })}</div></fieldset>`;
}

/** A variant counts where it is one of the first two, or has anything of its own. */
function testIn(form: URLSearchParams): Row {
  const text = (name: string) => form.get(name)?.trim() ?? "";
  const own = (letter: string) =>
    ["name", "subject", "template_id"].some((name) => text(`${letter}.${name}`) !== "");
  const variants = LETTERS.filter((letter, index) => index < 2 || own(letter)).map((letter) => ({
    id: letter,
    weight: Number(text(`${letter}.weight`) || 1),
    ...(text(`${letter}.name`) && { name: text(`${letter}.name`) }),
    subject: text(`${letter}.subject`) || null,
    template_id: text(`${letter}.template_id`) || null,
  }));
  const event = text("goal_event");
  return {
    ab_test: {
      variants,
      metric: text("metric"),
      test_percent: Number(text("test_percent")),
      duration_minutes: Number(text("duration_minutes")),
      min_sample: Number(text("min_sample")),
    },
    ...(event && { goal: { event, window_hours: Number(text("goal_hours") || 168) } }),
  };
}

function flat({ ab_test, goal }: Row): Row {
  const test = ab_test as AbTest | null;
  const values: Row = {
    metric: test?.metric ?? "click",
    test_percent: test?.test_percent ?? 20,
    duration_minutes: test?.duration_minutes ?? 240,
    min_sample: test?.min_sample ?? 100,
    goal_event: (goal as { event?: string } | null)?.event ?? "",
    goal_hours: (goal as { window_hours?: number } | null)?.window_hours ?? "",
  };
  for (const [index, letter] of LETTERS.entries()) {
    const variant = test?.variants[index];
    values[`${letter}.name`] = variant?.name ?? "";
    values[`${letter}.subject`] = variant?.subject ?? "";
    values[`${letter}.template_id`] = variant?.template_id ?? "";
    values[`${letter}.weight`] = variant?.weight ?? 1;
  }
  return values;
}
