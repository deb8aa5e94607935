import { z } from "zod";
import { UNBOUNDED } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { listFacts } from "#tools/approvals/approval.ts";
import { askAboutLists } from "#tools/approvals/lists.ts";
import { lockPause, refusePaused } from "#tools/campaigns/campaign/property-pause.ts";
import { stepSoon } from "#tools/enrollments/jobs.ts";
import { Problem } from "./definition/structure.ts";
import { ON_PUBLISH } from "./journey/columns.ts";
import { checkStatus, JourneyView } from "./journey/journey.ts";
import journeys from "./journeys.table.ts";
import { draftFacts } from "./publishing/draft-facts.ts";
import { entrantWords, keepEntrants, lockWithNamed } from "./publishing/entrants.ts";
import { messageParts } from "./publishing/messages.ts";
import { countInside, sampleInside } from "./publishing/people-inside.ts";
import { draftProblems, unpublishable } from "./publishing/problems.ts";
import { publishDraft } from "./publishing/publish.ts";
import { actionWords, listsOf, publishingWords, warningWords } from "./publishing/words.ts";

const Inside = z.object({
  finish: z.int().describe("Stay in the version that they entered"),
  move: z.int().describe("Go on in the new version"),
  exit: z.int().describe("Leave the journey"),
});

const Sample = z.object({
  player_id: z.uuid().nullable(),
  node: z.string().describe("Where the player stands"),
  fate: z.enum(["finish", "move", "exit"]),
});

/** A journey may have a million people inside, who take up to this long to be counted and moved. */
const DEADLINE_MS = 60_000;

export default tool({
  name: "publish_journey",
  title: "Publish a journey",
  description:
    "Makes a version of the draft, and lets players enter it. The texts of its templates and the rules of its segments are kept as they are now. Refused with every problem at once; validate_journey names them before. Players who already fit a segment enter only if backfill is true.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    onPublish: z
      .enum(ON_PUBLISH)
      .optional()
      .describe("The fate of the players inside. Left out: the journey's own on_publish"),
    backfill: z
      .boolean()
      .default(false)
      .describe("Players who fit a segment_enter trigger already enter too"),
    dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
  },
  output: z.object({
    success: z.literal(true),
    journey: JourneyView,
    version: z.int(),
    inside: Inside.describe("The fates of the players inside"),
    samples: z
      .array(Sample)
      .describe("Up to three of the players inside for each fate; empty where nobody is inside"),
    warnings: z.array(Problem),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { journeyId, onPublish: chosen, backfill, dry_run }) {
    const pause = dry_run ? null : await lockPause(context, "shared");
    const journey = await lockWithNamed(context, journeyId);
    checkStatus(journey, ["draft", "active", "paused"], "be published");
    const onPublish = chosen ?? journey.on_publish;
    refusePaused(pause);
    const { errors, warnings } = await draftProblems(context, journey);
    if (errors.length > 0) throw unpublishable(errors);
    await keepEntrants(context, journey.draft_definition);
    const inside = await countInside(context, journey, onPublish);
    const samples = await sampleInside(context, journey, onPublish);
    const { facts, segments } = await draftFacts(context, journey);
    context.ask?.({
      state: JSON.stringify([journey.id, journey.version, onPublish, backfill, inside, facts]),
      sentences: async () => [
        ...publishingWords(journey, {
          ...{ inside, onPublish, backfill },
          shown: await messageParts(context, journey, journey.draft_definition.nodes),
        }),
        ...(await actionWords(context, journey.draft_definition)),
        ...warningWords(warnings),
        ...(await entrantWords(context, journey)),
      ],
      facts: async () => ({ ...facts, ...(await listFacts(context, segments)) }),
      reach: UNBOUNDED,
    });
    await askAboutLists(context, listsOf(journey.draft_definition));
    const version = await publishDraft(context, journey, { onPublish, backfill });
    const status = journey.status === "paused" ? "paused" : "active";
    const values = { status, current_version: version, published_at: "now" };
    const row = await update(context, journeys, journeyId, values);
    stepSoon(context, journeyId);
    context.audit({ entity: "journeys", entityId: journeyId });
    return { success: true as const, journey: row, version, inside, samples, warnings };
  },
});
