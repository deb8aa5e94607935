import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { connect } from "#db/database.ts";
import { readConfig } from "#runtime/config.ts";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import { openDirectory } from "#runtime/identity/directory.ts";
import { createLog } from "#runtime/log.ts";
import type { Context } from "#runtime/operation/context.ts";
import { insert } from "#runtime/operation/rows.ts";
import { Definition } from "#tools/journeys/definition/definition.ts";
import { findJourney } from "#tools/journeys/journey/journey.ts";
import journeys from "#tools/journeys/journeys.table.ts";
import { writeVersion } from "#tools/journeys/publishing/version.ts";
import { step } from "#tools/journeys/steps/step.ts";
import { pads } from "#tools/people/address.ts";
import { benchDatabase } from "./database.ts";

/** A property with so many players who may be emailed, whose journeys are stepped without a service around them. */
export async function openJourneys(players: number) {
  const url = await benchDatabase();
  const owner = postgres(url, { max: 2, onnotice: () => {} });
  const [property] = await owner<{ id: string; pepper: Buffer }[]>`
    insert into properties (name, slug, legal_name, postal_address)
    values ('Bench', 'bench', 'Bench LLC', '1 Main Street') returning id, pepper`;
  const { id, pepper } = property!;
  const { inner, outer } = pads(pepper);
  await owner`
    insert into players (property_id, player_id, email, email_hash, first_name, tier, adt, timezone, consents)
    select ${id}, n::text, 'p' || n || '@example.com', address_hash(${inner}, ${outer}, 'p' || n || '@example.com'),
      'Ana', (array['Gold', 'Silver'])[1 + n % 2], n % 500, 'America/New_York', '{"email": true}'
    from generate_series(1, ${players}::int) n`;
  await owner.unsafe("vacuum analyze");
  const config = readConfig({ DATABASE_URL: url, APP_SECRET: "b".repeat(32), LOG_LEVEL: "warn" });
  const db = connect(url);
  const log = createLog("warn");
  const directory = await openDirectory(db, log);
  const sessions = { issue: async () => "", sessionOf: async () => null, signDetached: async () => "" };
  const work = async <T>(handler: (context: Context) => Promise<T>): Promise<T> => {
    const about = {
      property: (await directory.property(id))!,
      transport: "job",
      requestId: randomUUID(),
    } as const;
    const around = { db, config, directory, sessions, log, wake: () => {} };
    return workAsSystem(around, about, handler, { deadline: 600_000 });
  };
  return {
    url,
    owner,
    property: id,
    work,
    /** A published journey of this definition. */
    published: (definition: object): Promise<string> =>
      work(async (context) => {
        const values = {
          name: randomUUID(),
          draft_definition: Definition.parse(definition),
          reentry: { mode: "never", cooldown_hours: 0 },
          status: "active",
          current_version: 1,
        };
        const { id: journeyId } = await insert(context, journeys, values);
        await writeVersion(context, await findJourney(context, journeyId));
        return journeyId;
      }),
    /** The players of these numbers stand at a node, whose time has come. */
    async stand(
      journeyId: string,
      node: string,
      [from, to]: [number, number],
      phase = "ready",
    ): Promise<void> {
      const wake = phase === "ready" ? "0 days" : "30 days";
      await owner`
        insert into journey_enrollments (property_id, id, journey_id, version, player_id, node, phase, path, path_at, wake_at)
        select ${id}, uuid_v7(), ${journeyId}, 1, p.id, ${node}, ${phase}, array[${node}], array[now()],
          now() + ${wake}::interval
        from players p where p.property_id = ${id} and p.player_id::int between ${from} and ${to}`;
      await owner.unsafe("vacuum analyze journey_enrollments");
    },
    /** Steps until nobody is due, as the job does. Answers the moves. */
    async stepAll(journeyId: string, at = new Date().toISOString()): Promise<number> {
      let moves = 0;
      for (let more = 1; more > 0; moves += more)
        more = await work((context) => step(context, journeyId, at));
      return moves;
    },
    async close(): Promise<void> {
      await directory.close();
      await db.close();
      await owner.end();
    },
  };
}

export type BenchJourneys = Awaited<ReturnType<typeof openJourneys>>;

export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
