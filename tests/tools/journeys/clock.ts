import { randomUUID } from "node:crypto";
import type { Sql } from "#db/database.ts";
import type { StoreMessages } from "#runtime/channels/provider/channel.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import type { Call, Context } from "#runtime/operation/context.ts";
import { CATALOG } from "#tools/catalog.ts";
import { stepSoon } from "#tools/enrollments/jobs.ts";
import { step } from "#tools/journeys/steps/step.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { runNext } from "../../support/job-runner.ts";
import { isFull } from "../../support/proof-size.ts";
import { openProvider } from "../../support/provider.ts";
import { newScenario } from "../../support/scenario.ts";
import type { TestService } from "../../support/service.ts";

/** Of one time of the clock. A person who goes in a circle is moved on after a hundred visits. */
const MOST_STEPS = 300;

/** An enrollment as the database has it. */
export interface Entry {
  player: string;
  status: string;
  node: string;
  phase: string;
  wake_at: string | null;
  exit_reason: string | null;
  version: number;
  path: string[];
  goal: boolean;
}

interface Draft {
  nodes: object[];
  edges: object[];
}

/** A property whose journeys are stepped by the test's own clock; the service must run no worker. */
export async function journeyClock(service: TestService, settings: object = {}) {
  const scenario = await newScenario(service, settings);
  const start = Date.now();
  let minutes = 0;
  const clock = {
    scenario,
    /** The clock's time, in ISO. */
    at: () => new Date(start + minutes * 60_000).toISOString(),
    /** Puts the clock forward. */
    put: (amount: number) => {
      minutes += amount;
    },
    /** Puts the clock forward and moves everybody who is due then. */
    async pass(amount: number, journeyId: string): Promise<void> {
      minutes += amount;
      for (
        let steps = 1;
        (await clock.work((context) => step(context, journeyId, clock.at()))) > 0;
        steps++
      ) {
        if (steps > MOST_STEPS) throw new Error(`after ${MOST_STEPS} steps somebody is still due`);
      }
    },
    async work<T>(work: (context: Context) => Promise<T>): Promise<T> {
      const property = await service.internals.directory.property(scenario.id);
      const about = { property: property!, transport: "job", requestId: randomUUID() } as const;
      // Before the test's own end. The whole proof's places are larger, and it runs for an hour beside other work.
      return workAsSystem(service.internals, about, work, { deadline: isFull ? 300_000 : 150_000 });
    },
    /** A published journey. */
    async published(definition: Draft, more: object = {}): Promise<string> {
      const journey = await scenario.call("create_journey", {
        name: "J",
        draft_definition: definition,
        ...more,
      });
      await scenario.call("publish_journey", { journeyId: journey.id, propertyId: scenario.id });
      return journey.id;
    },
    /** Publishes another draft of it. */
    republish: async (journeyId: string, definition: Draft, more: object = {}) => {
      await scenario.call("update_journey", { id: journeyId, draft_definition: definition });
      return scenario.call("publish_journey", { journeyId, propertyId: scenario.id, ...more });
    },
    enroll: (journeyId: string, playerIds: string[], more: object = {}) =>
      scenario.call("enroll_players", { journeyId, propertyId: scenario.id, playerIds, ...more }),
    /** Something that a player does at the clock's time, which the API refuses in the future. */
    happens: (playerId: string, name: string, properties: object = {}) =>
      scenario.query(
        (sql) => sql`
          insert into player_events (property_id, player_id, name, occurred_at, properties)
          values (${scenario.id}, ${playerId}, ${name}, ${clock.at()}, ${properties}::jsonb)`,
      ),
    /** The entries of a journey, in the order of the players' player_id. */
    entries: (journeyId: string): Promise<Entry[]> =>
      scenario.query(
        (sql) => sql<Entry[]>`
          select p.player_id as player, e.status, e.node, e.phase, to_json(e.wake_at) #>> '{}' as wake_at, e.exit_reason,
            e.version, e.path, e.goal_reached_at is not null as goal
          from journey_enrollments e left join players p on p.property_id = ${scenario.id} and p.id = e.player_id
          where e.property_id = ${scenario.id} and e.journey_id = ${journeyId} order by p.player_id, e.entered_at`,
      ),
    /** Several records in one request. */
    many: async (operation: string, records: object[]) => {
      const call: Call = {
        actor: { type: "system", id: null },
        transport: "rest",
        requestId: randomUUID(),
        propertyId: scenario.id,
      };
      return invoke(service.internals, CATALOG.operations.get(operation)!, call, records, { many: true });
    },
    /** Runs the property's jobs that are due now, those that move people apart. */
    jobs: async () => {
      for (const only of ["refresh_segment", "enter_journey"]) {
        while (await runNext(service, scenario.id, { only })) {}
      }
    },
    /** Runs the journey's job, as a worker does now, by the real clock. */
    job: async (journeyId: string) => {
      await clock.work(async (context) => stepSoon(context, journeyId));
      while (await runNext(service, scenario.id, { only: "step_journey" })) {}
    },
    /** Hands out the messages that are due now, into the mailbox. False where there were none. */
    deliver: async (): Promise<boolean> => {
      const open = (store: StoreMessages) => openProvider("email", "mailbox", {}, store);
      let jobs = 0;
      for (const only of ["deliver_campaign", "cancel_sends"]) {
        while (await runNext(service, scenario.id, { only, open })) jobs += 1;
      }
      return jobs > 0;
    },
    /** Brings a segment's members up to date. */
    refresh: async (segmentId: string) => {
      await clock.work(async (context) =>
        context.enqueue(refreshSegment, { segmentId }, { dedupe: segmentId }),
      );
      await clock.jobs();
    },
    /** The times at which triggers of time are on the queue. */
    nextEntries: (): Promise<string[]> =>
      clock.queue(
        (sql) => sql<{ at: string }[]>`
          select to_char(run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at from queue
          where name = 'enter_journey' and property_id = ${scenario.id} order by 1`,
      ),
    /** Runs the trigger of time as if its time had come. */
    enterAt: async (at: string, node = "in1") => {
      await clock.queue(
        (sql) => sql`
          update queue set run_at = now(), input = input || ${{ at }}::jsonb
          where name = 'enter_journey' and property_id = ${scenario.id} and input ->> 'node' = ${node}`,
      );
      await runNext(service, scenario.id, { only: "enter_journey" });
    },
    queue: async (work: (sql: Sql) => Promise<{ at?: string }[]>): Promise<string[]> =>
      (await service.internals.db.asSystem(work)).map(({ at }) => String(at)),
    /** Everybody rests and leaves, where a rest takes less than two days. */
    leave: async (journeyId: string) => {
      await clock.pass(1, journeyId);
      await clock.pass(2 * 24 * 60, journeyId);
    },
    /** The same, and it was so many hours ago. */
    leaveAgo: async (journeyId: string, hours: number) => {
      await clock.leave(journeyId);
      await scenario.query(
        (sql) => sql`
          update journey_enrollments set ended_at = now() - make_interval(hours => ${hours}::int)
          where property_id = ${scenario.id} and journey_id = ${journeyId}`,
      );
    },
    report: (journeyId: string) => scenario.call("journey_report", { journeyId, propertyId: scenario.id }),
    verify: (journeyId: string) => scenario.call("verify_journey", { journeyId, propertyId: scenario.id }),
  };
  return clock;
}

export type JourneyClock = Awaited<ReturnType<typeof journeyClock>>;

const API = { id: "in", type: "trigger", config: { on: "api" } };

/** A definition that players enter by a call: these nodes, each leading to the next, and further edges. */
export function chain(nodes: PlainNode[], edges: { from: string; to: string; label?: string }[] = []): Draft {
  const all = [API, ...nodes];
  const ends = all.filter(({ type }) => type === "goal" || type === "exit").map(({ id }) => id);
  const led = new Set([...ends, ...edges.map(({ from }) => from)]);
  const next = nodes.map(({ id }, index) => ({ from: all[index]!.id, to: id }));
  return { nodes: all, edges: [...next.filter(({ from }) => !led.has(from)), ...edges] };
}

/** A node as a caller writes it. */
export interface PlainNode {
  id: string;
  type: string;
  config: object;
}
