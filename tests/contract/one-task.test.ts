import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "#db/database.ts";
import { migrate } from "#db/migrate.ts";
import { toFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { demoRecords } from "#transports/examples/demo-records.ts";
import { exampleOf } from "#transports/examples/examples.ts";
import { withRecords } from "#transports/examples/record-ids.ts";
import { clusterDatabase } from "../support/cluster/citus.ts";
import { type DemoService, startDemo, turnOf } from "../transports/start/demo.ts";

/** Sweeps over all properties: their statements are named in tests/support/statements/allowed.ts. */
const isSweep = ({ every }: { every?: unknown }) => every !== undefined;

const cluster = await clusterDatabase();

describe.runIf(cluster)("on a Citus cluster", () => {
  let demo: DemoService;
  let admin: postgres.Sql;

  beforeAll(async () => {
    const { name, url, join, drop } = cluster!;
    await join();
    await migrate(url);
    admin = postgres(url, { max: 1, onnotice: () => {} });
    // Citus then refuses a statement that takes more than one shard. A plan for all values would be one, and is made
    // to be compared with the others alone.
    await admin.unsafe(`alter database ${name} set citus.multi_task_query_log_level = 'error'`);
    await admin.unsafe(`alter database ${name} set plan_cache_mode = 'force_custom_plan'`);
    const jobs = new Map([...CATALOG.jobs].filter(([, job]) => !isSweep(job)));
    const db = connect(url, { application: name });
    demo = await startDemo({
      catalog: { ...CATALOG, jobs },
      database: { url, db, drop: () => db.close().then(drop) },
    });
  }, 300_000);

  afterAll(async () => {
    await admin?.end();
    await demo?.service.stop();
  });

  test("every operation and the jobs that it begins ask one shard at a time", async () => {
    const { service, propertyId } = demo;
    const failed: string[] = [];
    const run = async (operation: Operation, records: Awaited<ReturnType<typeof demoRecords>>) => {
      const input = JSON.parse(withRecords(JSON.stringify(exampleOf(operation)), records));
      const call = { actor: { type: "system", id: null }, transport: "cli", propertyId } as const;
      try {
        const { file } = await invoke(
          service.internals,
          operation,
          { ...call, requestId: randomUUID() },
          input,
        );
        while (file && (await file.stream.next()) !== null) {}
      } catch (error) {
        const { status, cause, message } = toFault(error);
        if (status >= 500)
          failed.push(`${operation.name}: ${cause instanceof Error ? cause.message : message}`);
      }
    };
    for (const turn of [0, 1, 2]) {
      const records = await demoRecords(service.internals, CATALOG);
      for (const operation of CATALOG.operations.values()) {
        if (turnOf(operation.name) === turn) await run(operation, records);
      }
      if (turn === 0) await demo.use();
      await service.idle();
    }
    const jobs = await admin<{ name: string; last_error: string }[]>`
      select distinct name, last_error from queue where last_error is not null`;
    expect([...failed, ...jobs.map(({ name, last_error }) => `${name}: ${last_error}`)]).toEqual([]);
  }, 600_000);

  test("the planner's estimate of a list's rows is that of the node which has them", async () => {
    await admin`select run_command_on_workers('analyze')`;
    const { body, headers } = await demo.service.get("/api/players?limit=1&first_name=neq.x", {
      ...demo.asKey,
      Prefer: "count=planned",
    });
    expect(body).toHaveLength(1);
    const total = Number(headers.get("Content-Range")?.split("/")[1]);
    expect(total).toBeGreaterThan(500);
    expect(total).toBeLessThan(2_000);
  });
});
