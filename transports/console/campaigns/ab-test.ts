import { html } from "hono/html";
import { type AbResult, type AbTest, hasRest } from "#tools/campaigns/campaign/ab-test.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  actButton,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  tried,
  versionField,
  versionIn,
} from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { timeOf } from "#transports/console/values.ts";
import { count, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const PART = "/console/campaigns";
/** The form's rows. A program can give ten. */
const LETTERS = ["a", "b", "c", "d"] as const;

/** The form of a campaign's test, folded away where there is none. */
export function abTestForm(desk: Desk, campaign: Row, templates: readonly Row[], again?: Filled): Html {
  const test = campaign.ab_test as AbTest | null;
  const filled = again ?? { values: flat(campaign) };
  const path = `${PART}/${campaign.id}/ab-test`;
  const fitting = templates
    .filter(({ channel }) => channel === campaign.channel)
    .map((one): Option => [String(one.id), String(one.name)]);
  const metrics = Object.entries(say().campaigns.metrics).map(([name, text]): Option => [name, text]);
  const fields = (...letters: string[]) =>
    letters.map((letter) => variantFields(filled, letter, { channel: campaign.channel, templates: fitting }));
  const numbers = html`<div class="row">${input(filled, { name: "test_percent", label: say().campaigns.shareThatTriesIn, type: "number", isRequired: true, hint: say().campaigns.restWaitsForWinner })}${input(filled, { name: "duration_minutes", label: say().campaigns.waitBeforeWinnerInMinutes, type: "number", isRequired: true })}${input(filled, { name: "min_sample", label: say().campaigns.leastMessagesOfEach, type: "number", isRequired: true, hint: say().campaigns.withFewerFirstVariantWins })}</div>`;
  const goal = html`<div class="row">${input(filled, { name: "goal_event", label: say().campaigns.goalTheEvent, most: 60, hint: say().campaigns.whereWinnerWhoReachedGoal })}${input(filled, { name: "goal_hours", label: say().campaigns.withinInHours, type: "number" })}</div>`;
  const form = formOf(desk, {
    action: path,
    filled,
    content: html`${versionField(campaign)}${fields("a", "b")}<details><summary>${say().campaigns.moreVariants}</summary>${fields("c", "d")}</details>${select(filled, { name: "metric", label: say().campaigns.winnerHasMost, options: metrics })}${numbers}${goal}<div class="acts"><button>${say().campaigns.saveTheTest}</button></div>`,
  });
  const remove = test ? actButton(desk, `${path}/remove`, say().campaigns.removeTheTest, "plain-button") : "";
  const isOpen = test !== null || again !== undefined;
  return html`<details class="ab-test"${isOpen ? html` open` : ""}><summary>${say().campaigns.abTest}</summary><p class="soft">${say().campaigns.shareAudienceTriesVariantsRest}</p>${form}${remove}</details>`;
}

/** Keeps the test. A fault shows the form again. */
export function saveAbTest(desk: Desk, again: (filled: Filled) => Promise<Response>): Promise<Response> {
  const id = desk.c.req.param("id")!;
  return tried(
    async () => {
      await desk.run("update_campaign", { id, ...testIn(desk.form), ...versionIn(desk.form) });
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
      ? html` ${say().campaigns.winnerIsChosen(timeOf(String(campaign.ab_ends_at), timezone))}`
      : "";
    return html`<p class="soft">${say().campaigns.shareTries(test.test_percent, test.variants.length, ends)}</p>`;
  }
  const why = say().campaigns.wins;
  const rates = result.variants.map(({ id, sample, count: reached }) =>
    say().campaigns.reachedOf(nameOf(id), count(reached), count(sample)),
  );
  const rest = hasRest(test) ? say().campaigns.restAudienceGets : "";
  return html`<p><b>${nameOf(result.winner_id)}</b> ${say().campaigns.wonBy(why[result.reason], rates.join(", "), rest, timeOf(result.decided_at, timezone))}</p>`;
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
        label: say().templates.subjectOrTitle,
        most: 500,
        hint: say().campaigns.emptyTheCampaigns,
      })
    : "";
  const template =
    templates.length === 0
      ? ""
      : select(filled, {
          name: `${letter}.template_id`,
          label: say().general.template,
          options: [["", say().campaigns.theCampaigns], ...templates],
        });
  return html`<fieldset><legend>${say().campaigns.variantOf(letter.toUpperCase())}</legend><div class="row">${input(filled, { name: `${letter}.name`, label: say().general.name, most: 200 })}${subject}${template}${input(filled, { name: `${letter}.weight`, label: say().campaigns.partsOfTheSplit, type: "number" })}</div></fieldset>`;
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
