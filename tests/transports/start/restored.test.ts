import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { restoreBackup } from "#db/backup/restore.ts";
import { takeBackup } from "#db/backup/take.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { Killed, loseWorker, runNext } from "../../support/job-runner.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { callScenario, callsIn } from "../../tools/voice-calls/scenario.ts";
import { VENDORS } from "../../tools/voice-calls/vendors.ts";

vi.setConfig({ testTimeout: 120_000 });

/** The calls that the vendor was asked for, by their sends. */
const dialed: string[] = [];
/** The vendor answers no request meanwhile. */
let isSilent = false;
const vendor = setupServer(
  http.all("http://127.0.0.1*", passthrough),
  http.post("https://api.vapi.ai/call", async ({ request }) => {
    const { name } = (await request.json()) as { name: string };
    dialed.push(name);
    if (isSilent) await new Promise(() => {});
    return HttpResponse.json({ id: "vendor-call", status: "queued" }, { status: 201 });
  }),
  http.get(VENDORS.vapi.record, () => HttpResponse.json(VENDORS.vapi.running)),
);
beforeAll(() => vendor.listen({ onUnhandledFrame: "error" }));
afterAll(() => vendor.close());

/** An empty database, which a backup can fill. */
async function emptyDatabase(): Promise<TestDatabase> {
  const database = await testDatabase({ isReleased: false });
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  await admin`drop schema public cascade`;
  await admin`create schema public`;
  await admin.end();
  return database;
}

/** Imports 3,000 players of the property, of which 1,000 are written when the process dies. */
async function importHalf(service: TestService, propertyId: string): Promise<string> {
  const csv = `player_id\n${Array.from({ length: 3_000 }, (_, n) => `K${n}`).join("\n")}\n`;
  const { id } = await service.call("create_import_job", { csv }, propertyId);
  const processed = async () => (await service.call("get_import_job", { id }, propertyId)).processed;
  for (let left = 1; (await processed()) === 0; left += 1) {
    await service.internals.db.asSystem(
      (sql) => sql`update queue set attempts = 9 where name = 'import_players'`,
    );
    const killed = runNext(service, propertyId, { only: "import_players", killedAfter: { left } });
    await expect(killed).rejects.toThrow(Killed);
    if ((await processed()) === 0) await loseWorker(service, propertyId);
  }
  return id;
}

test.skipIf(inject("workers").length > 0)(
  "a backup of a ringing phone, an unanswered vendor and half an import dials nobody twice, and ends the import",
  async () => {
    const database = await testDatabase();
    onTestFinished(database.drop);
    const kept = { ...database, drop: async () => {} };
    const quiet = await startService({ role: "web" }, { database: kept });
    const { id: importing } = await quiet.newProperty();
    const importId = await importHalf(quiet, importing);
    await quiet.stop();

    const original = await startService({ baseUrl: "https://casino.example" }, { database: kept });
    const scenario = await callScenario(original);
    const { callback_path } = await scenario.call("create_message_provider", {
      ...{ channel: "voice", kind: "vapi", name: "Vapi", from_address: "+18005550199" },
      ...{ credentials: VENDORS.vapi.credentials, allows_gaming: true },
    });
    await scenario.caller();
    await scenario.send(await scenario.voiceCampaign());
    const sent = () =>
      scenario.query(
        (sql) => sql<{ id: string }[]>`
          select id from campaign_sends where property_id = ${scenario.id} and status = 'sent'`,
      );
    // The import's worker is dead, and its job still claimed: the service does not come to rest.
    await expect.poll(sent).toHaveLength(1);
    const [{ id: send_id } = { id: "" }] = await sent();
    const text = JSON.stringify({
      message: {
        ...{ type: "status-update", status: "ringing" },
        call: { id: "vendor-call", assistant: { metadata: { send_id } } },
      },
    });
    const told = await fetch(`${original.baseUrl}${callback_path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...VENDORS.vapi.headers() },
      body: text,
    });
    expect(told.status).toBe(200);
    isSilent = true;
    await scenario.caller();
    await scenario.send(await scenario.voiceCampaign());
    await expect.poll(() => dialed.length).toBe(2);
    const statuses = async (calls: typeof scenario) =>
      (await calls.calls()).map(({ status }: { status: string }) => status);
    expect(await statuses(scenario)).toEqual(["ringing", "queued"]);

    const folder = await mkdtemp(join(tmpdir(), "restored-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "backup");
    const [secret] = await database.db.asSystem(
      (sql) => sql`select secret_fingerprint as mark from installation`,
    );
    await takeBackup(database.url, file);
    const copy = await emptyDatabase();
    onTestFinished(copy.drop);
    await restoreBackup(copy.url, file, secret!.mark);
    // Its request to the vendor never ends, so the copy does not wait for its stop.
    const stopped = original.stop();
    onTestFinished(() => stopped);
    isSilent = false;

    const restored = await startService(
      { baseUrl: "https://casino.example" },
      { database: { ...copy, drop: async () => {} } },
    );
    onTestFinished(restored.stop);
    expect(restored.running.hold).not.toBeNull();
    // The leases of the original's processes run out.
    await loseWorker(restored, importing);
    await loseWorker(restored, scenario.id);
    restored.internals.wake();
    await restored.idle();
    expect(await restored.call("get_import_job", { id: importId }, importing)).toMatchObject({
      ...{ status: "completed", total: 3_000, processed: 3_000, created_count: 3_000, failed: 0 },
    });
    expect(dialed).toHaveLength(2);

    await restored.call("release_sending", {});
    await loseWorker(restored, scenario.id);
    restored.internals.wake();
    await restored.idle();
    expect(dialed).toHaveLength(2);
    const there = callsIn(scenarioIn(restored, scenario.id));
    expect(await statuses(there as typeof scenario)).toEqual(["ringing", "queued"]);
    const sends = await there.query(
      (sql) => sql<{ status: string }[]>`
        select status from campaign_sends where property_id = ${scenario.id} and channel = 'voice' and status <> 'skipped'
        order by created_at, id`,
    );
    expect(sends.map(({ status }) => status)).toContain("unknown");

    // New calls go out.
    await there.caller();
    await there.send(await there.voiceCampaign());
    await restored.idle();
    expect(dialed).toHaveLength(3);
    expect(new Set(dialed).size).toBe(3);
  },
);
