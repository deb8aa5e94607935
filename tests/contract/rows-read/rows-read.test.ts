import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { enqueue } from "#runtime/jobs/queue.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Job } from "#runtime/operation/job.ts";
import { CATALOG } from "#tools/catalog.ts";
import { countRows, type RowCounter } from "../../support/postgres/rows-read.ts";
import { isFull } from "../../support/proof-size.ts";
import { type DemoService, NOBODY, startDemo, turnOf } from "../../transports/start/demo.ts";
import { type Document, endpoints, execute, isOfPeople } from "../http/examples.ts";
import { growTables } from "./many-rows.ts";
import { READS_MANY } from "./reads-many.ts";

// An operation about one record, and a job that has little to do, read few rows, however many the property has.

const MANY = 3_000;
/** More than one call needs in the demo, whose tables have up to a few hundred rows. */
const FEW = 500;

/** The nodes of a cluster count by themselves. */
const isCluster = inject("workers").length > 0;

let demo: DemoService;
let counter: RowCounter;
let isCounting = false;
/** The tables with many rows. */
let grown: string[];
/** By operation and job, the tables of which it read many rows; empty where there is none. */
const found = new Map<string, Map<string, number>>();
let last: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  if (isCluster) return;
  demo = await startDemo({ catalog: oneByOne(CATALOG) });
  counter = countRows(demo.service);
  await demo.use();
  const { id: other } = await demo.service.newTenant();
  const admin = postgres(demo.service.database.url, { max: 1, onnotice: () => {} });
  grown = await growTables(admin, { property: demo.propertyId, other, many: MANY });
  await admin.end();
  // The first time there is much to do: the new rows are sealed.
  await runScheduled();
  isCounting = true;
  // It fills every table of the demo and runs its jobs. A machine at half speed takes more than a minute.
}, 120_000);
afterAll(async () => {
  await counter?.stop();
  await demo?.service.stop();
});

/** The catalog of a service whose scheduler has nothing to do, and whose jobs run one after another. */
function oneByOne(catalog: Catalog): Catalog {
  const jobs = [...catalog.jobs].map(([name, { every: _, ...job }]): [string, Job<unknown>] => {
    const handler: Job<unknown>["handler"] = (context, input) =>
      counted(name, () => job.handler(context, input));
    return [name, { ...job, handler }];
  });
  return { ...catalog, jobs: new Map(jobs) };
}

/** Does one work after another, and notes the tables of which it read many rows. */
function counted<T>(name: string, work: () => Promise<T>): Promise<T> {
  const run = async (): Promise<T> => {
    if (!isCounting) return work();
    const { result, read } = await counter.during(work);
    const tables = found.get(name) ?? new Map<string, number>();
    for (const table of grown) {
      const rows = read[table] ?? 0;
      if (rows >= FEW) tables.set(table, Math.max(rows, tables.get(table) ?? 0));
    }
    found.set(name, tables);
    return result;
  };
  const running = last.then(run);
  last = running.catch(() => {});
  return running;
}

/** Runs each job that the scheduler runs. */
async function runScheduled(): Promise<void> {
  for (const job of CATALOG.jobs.values()) {
    if (!job.every) continue;
    await demo.service.database.db.asSystem((sql) => enqueue(sql, job, {}));
    demo.service.internals.wake([]);
    await demo.service.idle();
  }
}

test.skipIf(isCluster)(
  "of many rows, few are read by an operation about one record, by the jobs that follow, and by those on schedule",
  async () => {
    let done = 0;
    for (const turn of [0, 1, 2]) {
      const document: Document = (await demo.service.get("/api/openapi.json", NOBODY)).body;
      for (const [index, [path, method, { operationId }]] of endpoints(document).entries()) {
        if (turnOf(operationId) !== turn || !(isFull || index % 3 === 0)) continue;
        const headers = isOfPeople(operationId) ? demo.asAdmin : demo.asKey;
        const name = operationId.replace(/_(matching|get)$/, "");
        const { status, text } = await counted(name, () =>
          execute(demo.service, document, path, method, headers),
        );
        expect(status, `${operationId}: ${text.slice(0, 200)}`).toBeLessThan(500);
        if (status < 300) done++;
        await demo.service.idle();
      }
    }
    await runScheduled();
    expect(done).toBeGreaterThan(isFull ? 180 : 60);
    const scheduled = [...CATALOG.jobs.values()].filter(({ every }) => every).map(({ name }) => name);
    expect(scheduled.filter((name) => !found.has(name))).toEqual([]);
    const named = new Map(Object.values(READS_MANY).flatMap((some) => Object.entries(some)));
    const told = [...found].flatMap(([name, tables]) =>
      [...tables].flatMap(([table, rows]) =>
        named.get(name)?.includes(table) ? [] : [`${name} reads ${rows} rows of ${table}`],
      ),
    );
    expect(
      told,
      "Give the statement an index that it can use, or name it in READS_MANY with the reason.",
    ).toEqual([]);
    const gone = [...named.keys()].filter((name) => !CATALOG.operations.has(name) && !CATALOG.jobs.has(name));
    expect(gone, "Named in READS_MANY, and not in the catalog.").toEqual([]);
    // One operation in three is called, all with PROOF=full, one after another.
  },
  120_000,
);
