import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "#db/sql.ts";
import type { Fault } from "#runtime/faults.ts";
import { BATCH } from "#tools/journeys/steps/move.ts";
import { step } from "#tools/journeys/steps/step.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { chain, journeyClock } from "./clock.ts";

const ENTERING = isFull ? 100_000 : 600;
/** More than one batch of a step. */
const SLEEPING = isFull ? 1_000_000 : BATCH + 500;
/** Rows that one transaction of the test itself writes. */
const CHUNK = 50_000;
const DAY = 24 * 60;

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const end = { id: "end", type: "exit", config: {} };
const rest = { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 1, unit: "days" } } };

test(
  "a crowd that enters at once goes through, each person once, and the figures add up",
  async () => {
    const clock = await journeyClock(service);
    const { scenario } = clock;
    await scenario.crowd(ENTERING);
    // As an import does.
    await scenario.query((sql) => sql`select analyze_players()`);
    const { id: segmentId } = await scenario.call("create_segment", {
      name: "All",
      type: "dynamic",
      conditions: [{ field: "email", operator: "is_set" }],
    });
    const halves = [
      { label: "a", percent: 50 },
      { label: "b", percent: 50 },
    ];
    const journey = await clock.published(
      chain([
        { id: "split", type: "random_split", config: { splits: halves } },
        { id: "tag", type: "update_player", config: { add_tags: ["seen"] } },
        rest,
        end,
      ]),
    );
    const about = { journeyId: journey, propertyId: scenario.id, segmentId };
    // The second waits for the first at each player. After two seconds it is told to come back, as any client.
    const enroll = (): Promise<{ entered: number }> =>
      scenario.call("enroll_players", about).catch((error: Fault) => {
        if (error.code !== "unavailable") throw error;
        return enroll();
      });
    const [first, second] = await Promise.all([enroll(), enroll()]);
    expect(first.entered + second.entered).toBe(ENTERING);
    await clock.pass(1, journey);
    const { figures, nodes } = await clock.report(journey);
    expect(figures).toMatchObject({
      entered: ENTERING,
      people: ENTERING,
      inside: ENTERING,
      ignored_inside: ENTERING,
    });
    expect(nodes.find(({ node }: { node: string }) => node === "rest")).toMatchObject({ here: ENTERING });
    expect(await clock.verify(journey)).toMatchObject({ ok: true, enrollments: ENTERING });
  },
  isFull ? 600_000 : 30_000,
);

test(
  "a crowd that sleeps costs the steps of a day nothing, and wakes whole",
  async () => {
    const clock = await journeyClock(service);
    const { scenario } = clock;
    await scenario.crowd(1);
    const journey = await clock.published(chain([rest, end]));
    for (let from = 1; from <= SLEEPING; from += CHUNK) {
      await scenario.query(
        (sql) => sql`
        insert into journey_enrollments (property_id, id, journey_id, version, player_id, entry_key, node, phase, path, path_at,
          arrived_at, wake_at)
        select ${scenario.id}, uuid_v7(), ${journey}, 1, p.id, n::text, 'rest', 'waiting', array['in', 'rest'],
          array[now(), now()], now(), now() + interval '1 day'
        from generate_series(${from}::int, ${Math.min(from + CHUNK - 1, SLEEPING)}::int) n
          join players p on p.property_id = ${scenario.id} returning 1`,
      );
    }
    // As the job does behind a step that has moved so many.
    await scenario.query((sql) => sql`select analyze_enrollments()`);
    // Rows of enrollments that each step reads.
    const read: number[] = [];
    for (let hour = 0; hour < 23; hour += 1) {
      clock.put(60);
      await clock.work(async (context) => {
        const before = await rowsRead(context.sql);
        await step(context, journey, clock.at());
        read.push((await rowsRead(context.sql)) - before);
      });
    }
    expect(Math.max(...read)).toBeLessThan(100);
    await clock.pass(DAY, journey);
    expect((await clock.report(journey)).figures).toMatchObject({
      entered: SLEEPING,
      inside: 0,
      completed: SLEEPING,
    });
  },
  isFull ? 1_800_000 : 30_000,
);

/** Rows of enrollments that the connection has read. */
async function rowsRead(transaction: Sql): Promise<number> {
  const [row] = await transaction<[{ rows: number }]>`
    select (idx_tup_fetch + seq_tup_read)::int as rows from pg_stat_xact_user_tables
    where relname = 'journey_enrollments'`;
  return row.rows;
}
