import type { Sql } from "#db/database.ts";
import type { Job } from "#runtime/operation/job.ts";
import { CATALOG } from "#tools/catalog.ts";
import importPlayers from "#tools/imports/import-players.job.ts";
import { type Answer, startService } from "../../support/service.ts";

export interface Done {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  job: any;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  errors: any[];
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Player = Record<string, any>;

/** The number of records in a transaction of an import that was lost very often: the fewest. */
export const FEWEST_RECORDS = 500;

const often: typeof importPlayers = {
  ...importPlayers,
  handler: (context, input) => importPlayers.handler({ ...context, attempt: context.attempt + 19 }, input),
};

/** A catalog whose imports take so few records at a time from their first attempt on. */
export const SMALL_BATCHES = {
  ...CATALOG,
  jobs: new Map([...CATALOG.jobs, [often.name, often as Job<unknown>]]),
};

/** A service whose imports are started over REST and waited for. */
export async function openImports(catalog = CATALOG) {
  const service = await startService({}, { catalog });
  const { tenant, database } = service;

  const as = <T>(work: (sql: Sql) => Promise<T>, property = tenant.id): Promise<T> =>
    // Tens of thousands of players are taken away at once, on a machine that has other work.
    database.db.asProperty(property, work, { deadline: 60_000 });

  const start = async (input: object, headers?: Record<string, string>): Promise<Answer> => {
    const answer = await service.post("/api/import_jobs", { type: "player_import", ...input }, headers);
    if (answer.status !== 202) throw new Error(`import refused: ${answer.text}`);
    return answer;
  };

  const result = async (id: string, headers?: Record<string, string>): Promise<Done> => {
    await service.idle();
    const job = await service.get(`/api/import_jobs/${id}`, headers);
    const errors = await service.get(`/api/import_jobs/${id}/errors?limit=1000`, headers);
    return { job: job.body, errors: errors.body };
  };

  /** Imports to the end. */
  const run = async (input: object, headers?: Record<string, string>): Promise<Done> =>
    result((await start(input, headers)).body.id, headers);

  /** A file to the end, as it is. */
  const send = async (bytes: Uint8Array | string, query = ""): Promise<Done> => {
    const answer = await service.request("POST", `/api/import_jobs${query}`, {
      body: typeof bytes === "string" ? Buffer.from(bytes) : bytes,
      headers: { "Content-Type": "text/csv" },
    });
    if (answer.status !== 202) throw new Error(`import refused: ${answer.text}`);
    return result(answer.body.id);
  };

  const players = (property = tenant.id): Promise<Player[]> =>
    as(
      (sql) => sql`
        select *, last_visit_at::text as visited from players
        where property_id = ${property} and deleted_at is null order by player_id`,
      property,
    );

  return { service, as, start, result, run, send, players, stop: () => service.stop() };
}

export type Imports = Awaited<ReturnType<typeof openImports>>;

/** This number of different players as CSV text. */
export function manyPlayers(count: number, from = 0): string {
  const lines = ["player_id,email,phone,first_name,last_name,tier,adt"];
  for (let n = from; n < from + count; n++) {
    lines.push(
      `P${n},guest${n}@example.com,202555${String(n % 10_000).padStart(4, "0")},Ann${n},Lee,Gold,${n % 500}.5`,
    );
  }
  return `${lines.join("\n")}\n`;
}
