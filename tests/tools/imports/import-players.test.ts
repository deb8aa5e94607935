import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { lockImports } from "#tools/people/locks.ts";
import { FEWEST_RECORDS, type Imports, manyPlayers, openImports, SMALL_BATCHES } from "./scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports(SMALL_BATCHES);
});
afterAll(() => imports.stop());
beforeEach(() =>
  imports.as(
    (sql) =>
      sql`update players set deleted_at = now() where property_id = ${imports.service.tenant.id} and deleted_at is null`,
  ),
);

const upload = (csv: string) =>
  imports.service.request("POST", "/api/import_jobs", { body: csv, headers: { "Content-Type": "text/csv" } });

const counts = () =>
  imports.as(async (sql) => {
    const [row] = await sql<{ rows: number; distinct: number }[]>`
      select count(*)::int as rows, count(distinct player_id)::int as distinct from players where deleted_at is null`;
    return row!;
  });

const jobRow = (id: string) =>
  imports.as(async (sql) => {
    const [row] =
      await sql`select status, total, processed, error, summary from import_jobs where id = ${id}`;
    return row!;
  });

/** Does this between two batches of the import, behind the first one. */
async function betweenBatches<T>(jobId: string, work: () => Promise<T>): Promise<T> {
  await vi.waitFor(
    async () => expect((await jobRow(jobId)).processed).toBeGreaterThanOrEqual(FEWEST_RECORDS),
    { timeout: 20_000, interval: 5 },
  );
  const { tenant, internals } = imports.service;
  const property = (await internals.directory.property(tenant.id))!;
  return imports.as(async (sql) => {
    await lockImports({ sql, property });
    return work();
  });
}

test("an import answers 202 with where to look, and then what became of it", async () => {
  const answer = await imports.service.post("/api/import_jobs", {
    type: "player_import",
    csv: "player_id\nX1\n",
  });
  expect(answer.status).toBe(202);
  expect(answer.headers.get("location")).toBe(`/api/import_jobs/${answer.body.id}`);
  expect(answer.body).toMatchObject({ status: "queued", type: "player_import", total: null, processed: 0 });
  expect(answer.body.status_url).toMatch(new RegExp(`^http.*/api/import_jobs/${answer.body.id}$`));
  const { job } = await imports.result(answer.body.id);
  expect(job).toMatchObject({
    status: "completed",
    total: 1,
    processed: 1,
    succeeded: 1,
    errors_url: `${job.status_url}/errors`,
  });
  const uploads = await imports.as((sql) => sql`select from uploads`);
  expect(uploads).toHaveLength(0);
});

test("a duplicate is found across batches too, also by a dry run, and progress never passes the total", async () => {
  const count = FEWEST_RECORDS + 50;
  const csv = `${manyPlayers(count)}P3,other@example.com,,,,,\n`;
  // A dry run leaves no players, by which a later batch could find it.
  for (const query of ["?dry_run=true", ""]) {
    const { job, errors } = await imports.send(csv, query);
    expect(job).toMatchObject({ total: count + 1, processed: count + 1, created_count: count, failed: 1 });
    expect(errors).toMatchObject([{ row: count + 1, code: "duplicate_in_file" }]);
  }
  // A dry run keeps its file for the import.
  await imports.as((sql) => sql`delete from uploads`);
});

test("an import whose database connections are killed again and again resumes, and has each row once", async () => {
  const count = FEWEST_RECORDS * 3 + 7;
  const admin = postgres(imports.service.database.url, { max: 1, onnotice: () => {} });
  const { body } = await upload(manyPlayers(count));
  try {
    for (const least of [0, 1, FEWEST_RECORDS + 1]) {
      await vi.waitFor(
        async () => {
          const [row] = await admin`select status, processed from import_jobs where id = ${body.id}`;
          expect(
            row!.status === "completed" || (row!.status === "processing" && row!.processed >= least),
          ).toBe(true);
        },
        { timeout: 20_000, interval: 5 },
      );
      await admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and usename is not null`;
    }
    await vi.waitFor(async () => expect((await jobRow(body.id)).status).toBe("completed"), {
      timeout: 20_000,
      interval: 50,
    });
  } finally {
    await admin.end();
  }
  expect(await jobRow(body.id)).toMatchObject({ total: count, processed: count, error: null });
  expect(await counts()).toEqual({ rows: count, distinct: count });
  // Each killed connection costs a pause before the next try.
});

test("the summary of an import that still runs is whole: how its file is read, and what is ignored so far", async () => {
  // The phones of the second half are those of the first.
  const half = FEWEST_RECORDS * 3;
  const { body } = await upload(
    manyPlayers(half, 3_000_000) + manyPlayers(half, 3_010_000).split("\n").slice(1).join("\n"),
  );
  const running = await betweenBatches(body.id, () => jobRow(body.id));
  expect(running.status).toBe("processing");
  expect(running.processed).toBeLessThan(half);
  const { job } = await imports.result(body.id);
  expect(job.status).toBe("completed");
  const { taken_addresses, warnings, ...read } = job.summary;
  expect(running.summary).toMatchObject(read);
  expect(running.summary).toMatchObject({ delimiter: ",", columns: expect.arrayContaining(["player_id"]) });
  expect([running.summary.taken_addresses, taken_addresses]).toEqual([0, half]);
  expect([running.summary.warnings, warnings]).toEqual([[], [expect.stringMatching(/^1500 new players/)]]);
});

test("two imports of the same file at once make each player once, and neither fails", async () => {
  const csv = manyPlayers(FEWEST_RECORDS + 100, 500_000);
  const [one, two] = await Promise.all([upload(csv), upload(csv)]);
  const done = [await imports.result(one.body.id), await imports.result(two.body.id)];
  expect(done.map(({ job }) => [job.status, job.failed])).toEqual([
    ["completed", 0],
    ["completed", 0],
  ]);
  expect(done[0]!.job.created_count + done[1]!.job.created_count).toBe(FEWEST_RECORDS + 100);
  expect(await counts()).toEqual({ rows: FEWEST_RECORDS + 100, distinct: FEWEST_RECORDS + 100 });
});

test("the same player_ids in two properties are different players, and a job is seen by its own property alone", async () => {
  const rival = await imports.service.newTenant();
  const headers = { "X-Api-Key": rival.key };
  const ours = await imports.run({ csv: "player_id,first_name\nT1,Ours\n" });
  const theirs = await imports.run({ csv: "player_id,first_name\nT1,Theirs\n" }, headers);
  expect(theirs.job).toMatchObject({ created_count: 1 });
  expect((await imports.players())[0]!.first_name).toBe("Ours");
  expect((await imports.players(rival.id))[0]!.first_name).toBe("Theirs");
  for (const path of ["", "/errors"]) {
    expect((await imports.service.get(`/api/import_jobs/${ours.job.id}${path}`, headers)).status).toBe(404);
  }
  expect(
    (await imports.service.request("DELETE", `/api/import_jobs/${ours.job.id}`, { headers })).status,
  ).toBe(404);
});

test("a cancelled import is failed with that word, stops, and what has ended cannot be cancelled", async () => {
  const { body } = await upload(manyPlayers(FEWEST_RECORDS * 6, 900_000));
  const cancelled = await betweenBatches(body.id, () =>
    imports.service.request("DELETE", `/api/import_jobs/${body.id}`),
  );
  expect(cancelled).toMatchObject({ status: 200, body: { success: true } });
  const { job } = await imports.result(body.id);
  expect(job).toMatchObject({ status: "failed", error: "cancelled" });
  expect((await counts()).rows).toBe(job.processed);
  expect(job.processed).toBeGreaterThanOrEqual(FEWEST_RECORDS);
  expect(job.processed).toBeLessThan(FEWEST_RECORDS * 6);
  const done = await imports.run({ csv: "player_id\nZ1\n" });
  expect((await imports.service.request("DELETE", `/api/import_jobs/${done.job.id}`)).status).toBe(409);
});

test("endpoints that asked for it hear of each new player and of the import's end", async () => {
  const { tenant } = imports.service;
  await imports.as(
    (sql) => sql`
    insert into webhook_endpoints (property_id, url, events, secret)
    values (${tenant.id}, 'http://127.0.0.1:9/hook', '{player.created,job.completed}', 'whsec_x')`,
  );
  await imports.start({ csv: "player_id,email\nH1,h1@example.com\nH2,h2@example.com\n" });
  await vi.waitFor(async () => {
    const events = await imports.as(
      (sql) => sql<{ type: string; data: { object: Record<string, unknown> } }[]>`
      select type, data from outbox order by type, data -> 'object' ->> 'player_id'`,
    );
    expect(events.map((event) => event.type)).toEqual(["job.completed", "player.created", "player.created"]);
    expect(events[0]!.data.object).toMatchObject({
      type: "player_import",
      status: "completed",
      created_count: 2,
    });
    expect(events[1]!.data.object).toMatchObject({ player_id: "H1", property_id: tenant.id });
  }, 20_000);
  await imports.as((sql) => sql`delete from webhook_endpoints`);
  await imports.service.idle();
});

test("an import that was given up is failed by the sweep, and files that nobody imported are removed", async () => {
  const { tenant, internals } = imports.service;
  const { job } = await imports.run({ csv: "player_id\nQ1\n" });
  await imports.as(async (sql) => {
    await sql`update import_jobs set status = 'processing', updated_at = now() - interval '1 hour' where id = ${job.id}`;
    await sql`
      insert into uploads (property_id, id, created_at)
      values (${tenant.id}, uuid_v7(), now() - interval '25 hours'), (${tenant.id}, uuid_v7(), now())`;
  });
  await internals.db.asSystem(
    (sql) => sql`
    insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'sweep_imports', '{}', 1)`,
  );
  internals.wake();
  await imports.service.idle();
  expect((await jobRow(job.id)).status).toBe("failed");
  expect(await imports.as((sql) => sql`select from uploads`)).toHaveLength(1);
  await imports.as((sql) => sql`delete from uploads`);
});
