import { randomUUID } from "node:crypto";
import { parse } from "csv-parse/sync";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { addressHash } from "#tools/people/address.ts";
import listValidationResults from "#tools/validation/list-validation-results.ts";
import { overMcp } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { dnsServer } from "../../support/servers/dns-server.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let dns: Awaited<ReturnType<typeof dnsServer>>;
let service: TestService;
let rival: Tenant;
beforeAll(async () => {
  dns = await dnsServer({
    "good.example": { mx: ["mx1.good.example", "mx2.good.example"] },
    "old.example": { a: "192.0.2.1" },
    "refusing.example": { mx: ["."] },
    // Of one test alone: the answers of the DNS are remembered.
    "once.example": { mx: ["."] },
    "empty.example": {},
    "mute.example": { silent: true },
    "outlok.com": { mx: ["mx.outlok.com"] },
  });
  service = await startService({ dnsServers: [dns.address] });
  rival = await service.newTenant();
});
afterAll(async () => {
  await service.stop();
  await dns.stop();
});

interface Result {
  email: string;
  player_id: string | null;
  result: string;
  reasons: string[];
  did_you_mean: string | null;
}

const start = (input: object, tenant = service.tenant) =>
  service.post("/api/validation_jobs", { type: "email_validation", ...input }, { "X-Api-Key": tenant.key });

async function run(input: object, tenant = service.tenant) {
  const { status, body, text } = await start(input, tenant);
  if (status !== 202) throw new Error(text);
  await service.idle();
  const headers = { "X-Api-Key": tenant.key };
  const job = (await service.get(`/api/validation_jobs/${body.id}`, headers)).body;
  const results: Result[] = (await service.get(`/api/validation_jobs/${body.id}/results?limit=1000`, headers))
    .body;
  return { job, results, of: (email: string) => results.find((one) => one.email === email) };
}

const player = async (input: object, tenant = service.tenant) =>
  (await service.post("/api/players", input, { "X-Api-Key": tenant.key })).body as { id: string };
const emailOf = async (id: string) =>
  (await service.get(`/api/players?id.eq=${id}&select=email_status,email_validated_at`)).body[0];
const as = <T>(work: Parameters<typeof service.database.db.asProperty<T>>[1]) =>
  service.database.db.asProperty(service.tenant.id, work);

test("a validation answers 202 with where to look, then the specification's fields and what it found", async () => {
  const answer = await start({ emails: ["ann@good.example", "ANN@good.example ", "not an address"] });
  expect(answer.status).toBe(202);
  expect(answer.headers.get("location")).toBe(`/api/validation_jobs/${answer.body.id}`);
  expect(answer.body).toMatchObject({
    type: "email_validation",
    status: "queued",
    total: 2,
    processed: 0,
    skipped: 1,
  });
  await service.idle();
  const { body: job } = await service.get(`/api/validation_jobs/${answer.body.id}`);
  expect(job).toMatchObject({
    status: "completed",
    total: 2,
    processed: 2,
    succeeded: 2,
    summary: { deliverable: 0, risky: 0, undeliverable: 1, unknown: 1 },
    status_url: `${service.internals.config.baseUrl}/api/validation_jobs/${job.id}`,
    result_url: `${job.status_url}/results`,
  });
  const { body: results } = await service.get(`/api/validation_jobs/${job.id}/results`);
  expect(results).toMatchObject([
    { email: "ann@good.example", result: "unknown", risk: "low", checks: { mx: true } },
    { email: "not an address", result: "undeliverable", reasons: ["invalid_syntax"] },
  ]);
});

test("the DNS tells which domains take no mail, and is asked once for each", async () => {
  dns.asked.length = 0;
  const people = ["ann", "bob", "cy"];
  const domains = ["good", "old", "once", "empty", "nowhere"].map((name) => `${name}.example`);
  const emails = domains.flatMap((domain) => people.map((name) => `${name}@${domain}`));
  const { job, of } = await run({ emails: [...emails, "ann@outlok.com"] });
  expect(of("ann@good.example")).toMatchObject({ result: "unknown", risk: "low", reasons: [] });
  expect(of("bob@old.example")).toMatchObject({ result: "risky", reasons: ["no_mx"] });
  expect(of("cy@once.example")).toMatchObject({ result: "undeliverable", reasons: ["null_mx"] });
  expect(of("ann@empty.example")).toMatchObject({ result: "undeliverable", reasons: ["no_mx"] });
  expect(of("ann@nowhere.example")).toMatchObject({ result: "undeliverable", reasons: ["domain_not_found"] });
  expect(of("ann@outlok.com")).toMatchObject({ did_you_mean: "ann@outlook.com" });
  expect(job.summary).toEqual({ deliverable: 0, risky: 3, undeliverable: 9, unknown: 4 });
  expect(dns.asked.filter((one) => one === "mx once.example")).toHaveLength(1);
  await run({ emails: ["dan@once.example"] });
  expect(dns.asked.filter((one) => one === "mx once.example")).toHaveLength(1);
});

test("a validation can be tried: it says how many addresses it would check, asks nobody and keeps nothing", async () => {
  const tenant = await service.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  const people = await Promise.all(
    ["ann@good.example", "bo@tried.example", "bo@tried.example"].map((email) =>
      player({ email, tier: "Gold" }, tenant),
    ),
  );
  await player({ player_id: "no-email", tier: "Gold" }, tenant);
  const rules = { name: "Golds", conditions: [{ field: "tier", operator: "eq", value: "Gold" }] };
  const segment = (await service.post("/api/segments", rules, headers)).body;
  const change = { update_players: true, suppress_undeliverable: true, dry_run: true };
  dns.asked.length = 0;
  for (const [input, total, skipped] of [
    [{ all_players: true }, 2, 0],
    [{ segment_id: segment.id }, 2, 0],
    [{ player_ids: people.map(({ id }) => id) }, 2, 1],
    [{ emails: ["a@tried.example", "A@tried.example", "b@tried.example"] }, 2, 1],
  ] as const) {
    const answer = await start({ ...input, ...change }, tenant);
    expect([answer.status, answer.headers.get("location")]).toEqual([200, null]);
    // A caller who polls finds an end, and only addresses of existing jobs.
    const ended = { dry_run: true, status: "completed", total, skipped };
    expect(answer.body, JSON.stringify(input)).toMatchObject(ended);
    for (const url of [answer.body.status_url, answer.body.result_url]) {
      expect((await service.get(new URL(url).pathname, headers)).status, url).toBe(200);
    }
  }
  expect((await start({ segment_id: randomUUID(), ...change }, tenant)).status).toBe(404);
  await service.idle();
  expect(dns.asked).toEqual([]);
  expect((await service.get("/api/validation_jobs", headers)).body).toEqual([]);
  expect((await service.get("/api/players?email_status=neq.unknown", headers)).body).toEqual([]);
});

test("a DNS that does not answer leaves an address unknown, and the player's status as it was", async () => {
  const { id } = await player({ email: "quiet@mute.example" });
  await as((sql) => sql`update players set email_status = 'deliverable' where id = ${id}`);
  const { job, of } = await run({ player_ids: [id] });
  expect(of("quiet@mute.example")).toMatchObject({
    player_id: id,
    result: "unknown",
    reasons: ["dns_timeout"],
  });
  expect(job).toMatchObject({ status: "completed", failed: 1, succeeded: 0, updated_count: 0 });
  expect(await emailOf(id)).toEqual({ email_status: "deliverable", email_validated_at: null });
});

test("at the level syntax nothing is asked of the DNS, and full is refused while there is no provider", async () => {
  dns.asked.length = 0;
  const { of } = await run({ level: "syntax", emails: ["ann@unasked.example", "info@unasked.example"] });
  expect(of("ann@unasked.example")).toMatchObject({
    result: "unknown",
    risk: "unknown",
    checks: { mx: null },
  });
  expect(of("info@unasked.example")).toMatchObject({ result: "risky" });
  expect(dns.asked).toEqual([]);
  const refused = await start({ level: "full", emails: ["a@good.example"] });
  expect([refused.status, refused.body.error]).toEqual([
    400,
    "level: full needs a validation provider, and none is configured (VALIDATION_KEY); use dns",
  ]);
});

test("players get the result, an undeliverable one gets no email, and the address can be suppressed too", async () => {
  const dead = await player({ email: "dead@refusing.example" });
  const twin = await player({ email: "dead@refusing.example" });
  const role = await player({ email: "info@good.example" });
  const fine = await player({ email: "fine@good.example" });
  await service.post("/api/webhook_endpoints", {
    url: "http://127.0.0.1:9/hook",
    events: ["player.suppressed", "job.completed"],
  });
  const { job } = await run({
    player_ids: [dead.id, twin.id, role.id, fine.id],
    suppress_undeliverable: true,
  });
  expect(job).toMatchObject({ total: 3, skipped: 1, updated_count: 3 });
  for (const { id } of [dead, twin])
    expect(await emailOf(id)).toMatchObject({ email_status: "undeliverable" });
  expect(await emailOf(role.id)).toMatchObject({
    email_status: "risky",
    email_validated_at: expect.any(String),
  });
  expect(await emailOf(fine.id)).toEqual({ email_status: "unknown", email_validated_at: null });
  const path = "/api/suppressions?address.eq=dead@refusing.example";
  expect((await service.get(path)).body).toMatchObject([
    { channel: "email", reason: "invalid", source: "email_validation", lifted_at: null },
  ]);
  await run({ emails: ["dead@refusing.example"], suppress_undeliverable: true });
  expect((await service.get(path)).body).toHaveLength(1);
  const told = await as((sql) => sql`select type from outbox order by occurred_at`);
  expect(told.filter(({ type }) => type === "player.suppressed")).toHaveLength(1);
  expect(told.filter(({ type }) => type === "job.completed").length).toBeGreaterThan(0);
  await service.post("/api/functions/consent-record", {
    propertyId: service.tenant.id,
    playerId: dead.id,
    channel: "email",
    consentGiven: true,
  });
  const check = await service.post("/api/functions/compliance-check", {
    propertyId: service.tenant.id,
    channel: "email",
    email: "dead@refusing.example",
  });
  expect(check.body).toMatchObject({ allowed: false });
  expect(check.body.reasons).toContain("invalid_address");
});

test("without update_players the players stay as they are", async () => {
  const { id } = await player({ email: "gone@nowhere.example" });
  const { of } = await run({ player_ids: [id], update_players: false });
  expect(of("gone@nowhere.example")).toMatchObject({ result: "undeliverable", player_id: id });
  expect(await emailOf(id)).toEqual({ email_status: "unknown", email_validated_at: null });
});

test("a delivered message proves an address, and a hard bounce disproves it", async () => {
  const proven = await player({ email: "proven@good.example" });
  const bounced = await player({ email: "bounced@good.example" });
  const [property] = await as((sql) => sql<{ pepper: Buffer }[]>`select pepper from properties`);
  const hashOf = (email: string) => addressHash(property!.pepper, email);
  await as(async (sql) => {
    await sql`
      insert into campaign_sends (property_id, player_id, channel, status, address_hash, dedupe_key, delivered_at)
      values (${service.tenant.id}, ${proven.id}, 'email', 'delivered', ${hashOf("proven@good.example")}, 'k', now())`;
    await sql`
      insert into suppressions (property_id, channel, address_hash, reason)
      values (${service.tenant.id}, 'email', ${hashOf("bounced@good.example")}, 'hard_bounce')`;
  });
  const { of } = await run({ emails: ["proven@good.example", "bounced@good.example"] });
  expect(of("proven@good.example")).toMatchObject({ result: "deliverable", player_id: proven.id });
  expect(of("bounced@good.example")).toMatchObject({
    result: "undeliverable",
    reasons: ["previously_bounced"],
    player_id: bounced.id,
  });
});

test("an erased player is neither validated nor kept in earlier results", async () => {
  const { id } = await player({ email: "forget@good.example" });
  const before = await run({ player_ids: [id] });
  expect(before.results).toHaveLength(1);
  const all = await service.post("/api/functions/data-export", {
    propertyId: service.tenant.id,
    playerId: id,
  });
  expect(all.body.validation_results).toMatchObject([{ email: "forget@good.example", result: "unknown" }]);
  await service.call("data_deletion", { propertyId: service.tenant.id, playerId: id });
  const kept = await service.get(`/api/validation_jobs/${before.job.id}/results`);
  expect(kept.body).toEqual([]);
  const after = await run({ emails: ["Forget@good.example", "other@good.example"] });
  expect(after.results.map(({ email }) => email)).toEqual(["other@good.example"]);
  expect(after.job).toMatchObject({ total: 1, skipped: 1 });
});

test("a segment's players, or all of a property, are validated, each address once", async () => {
  const tenant = await service.newTenant();
  for (const n of [1, 2, 3])
    await player({ player_id: `S${n}`, email: `s${n}@good.example`, adt: n }, tenant);
  await player({ player_id: "S4", email: "s1@good.example" }, tenant);
  const gone = await player({ player_id: "S5", email: "s5@good.example" }, tenant);
  await service.request("DELETE", `/api/players/${gone.id}`, { headers: { "X-Api-Key": tenant.key } });
  await player({ player_id: "S6" }, tenant);
  const segment = await service.post(
    "/api/segments",
    { name: "Rich", conditions: [{ field: "adt", operator: "gte", value: 2 }] },
    { "X-Api-Key": tenant.key },
  );
  const some = await run({ segment_id: segment.body.id }, tenant);
  expect(some.results.map(({ email }) => email)).toEqual(["s2@good.example", "s3@good.example"]);
  const all = await run({ all_players: true }, tenant);
  expect(all.results.map(({ email }) => email)).toEqual([
    "s1@good.example",
    "s2@good.example",
    "s3@good.example",
  ]);
  expect(all.job).toMatchObject({ total: 3, processed: 3 });
});

test("a request that is not clear, or names what is not there, is refused", async () => {
  const theirs = await player({ email: "x@good.example" }, rival);
  const cases: [object, number, RegExp][] = [
    [{}, 400, /exactly one/],
    [{ emails: ["a@good.example"], all_players: true }, 400, /exactly one/],
    [{ emails: [] }, 400, /emails/],
    [{ emails: ["x".repeat(321)] }, 400, /emails/],
    [{ all_players: false }, 400, /all_players/],
    [{ emails: ["a@good.example"], level: "deep" }, 400, /level/],
    [{ segment_id: randomUUID() }, 404, /segment/],
    [{ player_ids: [theirs.id] }, 404, /no player with the id/],
    [{ player_ids: [randomUUID()] }, 404, /no player with the id/],
    [{ type: "phone_validation", emails: ["a@good.example"] }, 400, /type/],
  ];
  for (const [input, status, message] of cases) {
    const { body, ...answer } = await start(input);
    expect([answer.status, body.error]).toEqual([status, expect.stringMatching(message)]);
  }
});

test("the results are read as JSON pages or as one CSV, chosen by result, and by their own property alone", async () => {
  const { job } = await run({ emails: ["=cmd@good.example", "info@good.example", "z@nowhere.example"] });
  const path = `/api/validation_jobs/${job.id}/results`;
  const csv = await service.get(`${path}?format=csv`);
  expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const rows: Record<string, string>[] = parse(csv.text, { columns: true });
  expect(rows).toMatchObject([
    { email: "'=cmd@good.example", result: "unknown", mx: "true", role: "false" },
    { email: "info@good.example", reasons: "role_address" },
    { email: "z@nowhere.example", reasons: "domain_not_found", mx: "false" },
  ]);
  expect((await service.get(`${path}?result=risky`)).body).toHaveLength(1);
  const second = await service.get(`${path}?limit=1&offset=1`);
  expect(second.body).toMatchObject([{ email: "info@good.example" }]);
  const third = await service.get(`${path}?limit=1&cursor=${second.headers.get("x-next-cursor")}`);
  expect(third.body).toMatchObject([{ email: "z@nowhere.example" }]);
  expect(third.headers.get("x-next-cursor")).toBeNull();
  const { data } = await overMcp(service, listValidationResults, { id: job.id, limit: 2 });
  expect(data.page).toEqual({ next_cursor: "2", has_more: true });
  expect((await service.get(`${path}?format=xml`)).status).toBe(400);
  const theirs = { "X-Api-Key": rival.key };
  for (const query of ["", "?format=csv"]) expect((await service.get(path + query, theirs)).status).toBe(404);
  expect((await service.get(`/api/validation_jobs/${job.id}`, theirs)).status).toBe(404);
  const removal = await service.request("DELETE", `/api/validation_jobs/${job.id}`, { headers: theirs });
  expect(removal.status).toBe(404);
  expect((await service.request("DELETE", `/api/validation_jobs/${job.id}`)).status).toBe(409);
});

test("as many addresses as a job may have fit into one request, and no more", async () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, n) => `guest.number.${n}@good.example`);
  const { input } = CATALOG.operations.get("create_validation_job")!;
  expect(input.safeParse({ emails: addresses(100_000) }).success).toBe(true);
  const beyond = await start({ emails: addresses(100_001) });
  expect([beyond.status, beyond.body.error]).toEqual([400, expect.stringContaining("emails")]);
  // To store so many takes ten seconds.
  const count = isFull ? 100_000 : 2_000;
  const answer = await start({ emails: addresses(count), level: "syntax" });
  expect([answer.status, answer.body.total], answer.text.slice(0, 200)).toEqual([202, count]);
  expect((await service.request("DELETE", `/api/validation_jobs/${answer.body.id}`)).status).toBe(200);
  expect((await start({ emails: [`${"x".repeat(9_000_000)}@good.example`] })).status).toBe(413);
});

const many = (count: number) => Array.from({ length: count }, (_, n) => `m${n}@many-${n % 40}.example`);
const stateOf = (id: string) =>
  as(async (sql) => (await sql`select status, error, processed from validation_jobs where id = ${id}`)[0]!);

test("a validation whose database connections are killed again and again goes on, and judges each address once", async () => {
  const emails = many(2000);
  for (let n = 0; n < 40; n++) dns.zones[`many-${n}.example`] = { mx: ["mx.many.example"] };
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  const { body } = await start({ emails });
  try {
    for (const least of [0, 500, 1000]) {
      await vi.waitFor(
        async () => {
          const state = await stateOf(body.id);
          expect(state.status === "completed" || state.processed >= least).toBe(true);
        },
        { timeout: 20_000, interval: 5 },
      );
      await admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and usename is not null`;
    }
    await vi.waitFor(async () => expect((await stateOf(body.id)).status).toBe("completed"), {
      timeout: 20_000,
      interval: 50,
    });
  } finally {
    await admin.end();
  }
  await service.idle();
  const { body: job } = await service.get(`/api/validation_jobs/${body.id}`);
  expect(job).toMatchObject({ total: 2000, processed: 2000, succeeded: 2000, summary: { unknown: 2000 } });
  // Each killed connection costs a pause before the next try.
});

test("a cancelled validation is failed with that word, and judges nothing more", async () => {
  dns.zones["stuck.example"] = { silent: true };
  const { body } = await start({ emails: ["a@good.example", "b@stuck.example"] });
  await vi.waitFor(async () => expect((await stateOf(body.id)).status).toBe("processing"), 20_000);
  const cancelled = await service.request("DELETE", `/api/validation_jobs/${body.id}`);
  expect(cancelled).toMatchObject({ status: 200, body: { success: true } });
  await service.idle();
  expect(await stateOf(body.id)).toEqual({ status: "failed", error: "cancelled", processed: 0 });
  expect((await service.get(`/api/validation_jobs/${body.id}/results`)).body).toEqual([]);
});

/** Files that are on their way to somebody. */
async function openCopies(): Promise<number> {
  const admin = postgres(service.database.url, { max: 1 });
  const [row] = await admin<{ copies: number }[]>`
    select count(*)::int as copies from pg_stat_activity
    where datname = current_database() and state = 'active' and query ilike 'copy%'`;
  await admin.end();
  return row!.copies;
}

test("a HEAD of a job's file says what it is, and keeps nothing busy", async () => {
  const { body: job } = await start({ emails: ["head@good.example"] });
  await service.idle();
  const path = `/api/validation_jobs/${job.id}/results?format=csv`;
  for (let turn = 0; turn < 6; turn++) {
    const head = await service.request("HEAD", path);
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers.get("content-disposition")).toMatch(/attachment/);
  }
  await expect.poll(openCopies, { timeout: 2_000 }).toBe(0);
  const { status, text } = await service.get(path);
  expect({ status, text }).toMatchObject({ status: 200, text: expect.stringContaining("head@good.example") });
});
