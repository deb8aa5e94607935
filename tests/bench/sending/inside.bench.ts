import type { Context } from "#runtime/operation/context.ts";
import archiveJourney from "#tools/journeys/archive-journey.ts";
import publishJourney from "#tools/journeys/publish-journey.ts";
import { openJourneys, seconds } from "../support/bare-journeys.ts";
import type { Report } from "../support/figure.ts";

const PEOPLE = Number(process.env.BENCH_PLAYERS ?? 1_000_000);
/** The time limit of these operations. */
const LIMIT_SECONDS = 60;

const DEFINITION = {
  nodes: [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "wait", type: "delay", config: { by: "duration", duration: { amount: 60, unit: "days" } } },
    { id: "end", type: "exit", config: {} },
  ],
  edges: [
    { from: "in", to: "wait" },
    { from: "wait", to: "end" },
  ],
};

/** A million people inside, in one transaction: publishing with each choice, and archiving. */
export default async function bench(report: Report): Promise<void> {
  const place = await openJourneys(PEOPLE);
  try {
    const publish =
      (onPublish: "finish_old" | "move_matching_nodes" | "exit_old") => (context: Context, id: string) =>
        publishJourney.handler(context, {
          journeyId: id,
          propertyId: place.property,
          onPublish,
          backfill: false,
          dry_run: false,
        });
    const cases = {
      "publish, finish_old": publish("finish_old"),
      "publish, move_matching_nodes": publish("move_matching_nodes"),
      "publish, exit_old": publish("exit_old"),
      archive: (context: Context, id: string) =>
        archiveJourney.handler(context, { journeyId: id, propertyId: place.property }),
    };
    for (const [name, change] of Object.entries(cases)) {
      const journey = await place.published(DEFINITION);
      await place.stand(journey, "wait", [1, PEOPLE], "waiting");
      const took = await seconds(() => place.work((context) => change(context, journey)));
      report({
        name: `${name} with ${PEOPLE} inside, s / limit`,
        ours: took,
        peer: LIMIT_SECONDS,
        ratio: took / LIMIT_SECONDS,
        goal: "<= 1",
        met: took <= LIMIT_SECONDS,
      });
      await place.owner`delete from journey_enrollments where journey_id = ${journey}`;
    }
  } finally {
    await place.close();
  }
}
