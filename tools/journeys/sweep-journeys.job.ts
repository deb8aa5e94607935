import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { enqueue } from "#runtime/jobs/queue.ts";
import { job } from "#runtime/operation/job.ts";
import { STEP_JOURNEY } from "#tools/enrollments/jobs.ts";

/** Gives an active journey with people in it its job again, where none is left on the queue. */
export default job({
  name: "sweep_journeys",
  attempts: 3,
  every: "* * * * *",
  input: z.object({}),
  handler: ({ transactSystem, log }) =>
    transactSystem(async (sql) => {
      for (const { property_id: propertyId, id: journeyId } of await stranded(sql)) {
        await enqueue(
          sql,
          STEP_JOURNEY,
          { journeyId },
          { propertyId, dedupe: journeyId, mergeKey: journeyId },
        );
        log.warn({ journeyId, propertyId }, "the journey had no job any more, and has one again");
      }
    }),
});

/** The journeys first: one whose job ends meanwhile gets another one, which does no harm. */
async function stranded(sql: Sql): Promise<{ property_id: string; id: string }[]> {
  const open = await sql<{ property_id: string; id: string }[]>`
    select j.property_id, j.id from journeys j
    where j.status = 'active' and j.deleted_at is null and exists (
      select from journey_enrollments e
      where e.property_id = j.property_id and e.journey_id = j.id and e.status = 'active')`;
  if (open.length === 0) return [];
  const alive = await sql<{ id: string }[]>`
    select distinct input ->> 'journeyId' as id from queue where state <> 'dead' and name = ${STEP_JOURNEY.name}`;
  const ids = new Set(alive.map(({ id }) => id));
  return open.filter(({ id }) => !ids.has(id));
}
