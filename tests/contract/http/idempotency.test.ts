import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimKey, findRecorded, recordedAnswers } from "#runtime/funnel/idempotency.ts";
import { expectFrame, refused } from "../../support/answers.ts";
import { shifted } from "../../support/database.ts";
import { NOWHERE } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service?.stop());

const player = (body: unknown, headers?: Record<string, string | null>) =>
  service.post("/api/players", body, headers);

describe("an Idempotency-Key", () => {
  const rows = async (name: string) => (await service.get(`/api/players?first_name.eq=${name}`)).body.length;

  test("answers a repeat with the first answer, and writes nothing again", async () => {
    const keyed = { "Idempotency-Key": "first-of-all" };
    const one = await player({ first_name: "Ida" }, keyed);
    const two = await player({ first_name: "Ida" }, keyed);
    expect(one.status).toBe(201);
    expect(one.headers.get("Idempotency-Replayed")).toBeNull();
    expect({ status: two.status, text: two.text }).toEqual({ status: 201, text: one.text });
    expect(two.headers.get("Idempotency-Replayed")).toBe("true");
    expectFrame(two, "replay");
    expect(await rows("Ida")).toBe(1);
  });

  test("does the write anew once its record has expired by the database's clock, and then repeats that", async () => {
    const keyed = { "Idempotency-Key": "of-yesterday" };
    const one = await player({ first_name: "Ines" }, keyed);
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        update idempotency_records
        set created_at = ${shifted("created_at", "-24 hours")}, expires_at = ${shifted("expires_at", "-24 hours")}
        where property_id = ${service.tenant.id} and key = 'of-yesterday'`,
    );
    const anew = { first_name: "Ines", last_name: "Anew" };
    const two = await player(anew, keyed);
    expect([two.status, two.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
    expect(two.body.id).not.toBe(one.body.id);
    const three = await player(anew, keyed);
    expect([three.body.id, three.headers.get("Idempotency-Replayed")]).toEqual([two.body.id, "true"]);
    await refused(422, "idempotency_key_reused", player({ first_name: "Ines" }, keyed));
    expect(await rows("Ines")).toBe(2);
  });

  test("whose first request is still at work is refused, and taken once that has come to nothing", async () => {
    const keyed = { "Idempotency-Key": "at-work" };
    const { id: scope } = service.tenant;
    await service.database.db.asProperty(scope, async (sql) => {
      await claimKey(sql, { scope, key: "at-work", fingerprint: Buffer.alloc(32) });
      const { body } = await refused(409, "idempotency_key_in_use", player({ first_name: "Iwa" }, keyed));
      expect(body.retry_after).toBe(1);
    });
    expect(await player({ first_name: "Iwa" }, keyed)).toMatchObject({ status: 201 });
  });

  test("keeps its first answer even of a call that has not claimed it", async () => {
    const { id: scope } = service.tenant;
    const keyed = { scope, key: "unclaimed", fingerprint: Buffer.alloc(32) };
    const record = (body: string) =>
      service.database.db.asProperty(
        scope,
        (sql) => sql`${recordedAnswers([{ ...keyed, operation: "create_player", status: 201, body }])}`,
      );
    await record('"first"');
    await expect(record('"second"')).rejects.toThrow(/null value in column "key"/);
    const found = await service.database.db.asProperty(scope, (sql) => findRecorded(sql, keyed));
    expect(found).toEqual({ status: 201, body: '"first"' });
  });

  test("of a user who acts for no property is that user's alone", async () => {
    const keys = await Promise.all(
      ["one", "other"].map((name) =>
        service.call("create_api_key", { property_id: service.tenant.id, name, scopes: ["read"] }),
      ),
    );
    for (const { id } of keys) {
      const { token } = await service.signIn({ role: "manager" });
      const headers = { "X-Api-Key": null, Authorization: `Bearer ${token}`, "Idempotency-Key": "revoke" };
      const answer = await service.post("/api/functions/revoke-api-key", { keyId: id }, headers);
      expect([answer.status, answer.headers.get("Idempotency-Replayed")], answer.text).toEqual([200, null]);
    }
  });

  test("of callers without a credential belongs to each call alone", async () => {
    const headers = { "X-Api-Key": null, "Idempotency-Key": "anonymous" };
    for (const email of ["a@example.com", "b@example.com"]) {
      const asked = await service.post("/api/auth/password-reset", { email }, headers);
      expect([asked.status, asked.headers.get("Idempotency-Replayed")], asked.text).toEqual([200, null]);
    }
  });

  test("with another body, path or method is refused", async () => {
    const keyed = { "Idempotency-Key": "second" };
    await player({ first_name: "Ira" }, keyed);
    await refused(422, "idempotency_key_reused", player({ first_name: "Ivo" }, keyed));
    await refused(422, "idempotency_key_reused", service.post("/api/templates", { name: "t" }, keyed));
    expect(await rows("Ivo")).toBe(0);
  });

  test("of another write is refused as such, also with a faulty body", async () => {
    const keyed = { "Idempotency-Key": "used-and-wrong" };
    await player({ first_name: "Ivy" }, keyed);
    await refused(422, "idempotency_key_reused", player({ adt: "much" }, keyed));
    await refused(422, "idempotency_key_reused", player({ phone: "12" }, keyed));
    await refused(422, "idempotency_key_reused", service.post("/api/templates", { nonsense: 1 }, keyed));
    await refused(422, "idempotency_key_reused", service.post("/api/functions/consent-record", {}, keyed));
    await refused(422, "idempotency_key_reused", player('{"first_name":', keyed));
    await refused(422, "idempotency_key_reused", player([], keyed));
    await refused(422, "idempotency_key_reused", service.post("/api/functions/consent-record", "[", keyed));
    const text = { ...keyed, "Content-Type": "text/plain" };
    await refused(422, "idempotency_key_reused", player("Ivy", text));
    const unused = { "Idempotency-Key": "unused-and-wrong" };
    await refused(400, "invalid", player({ phone: "12" }, unused));
    await refused(400, "invalid", player('{"first_name":', unused));
    await refused(400, "invalid", player('{"first_name":', { "Idempotency-Key": "no key" }));
  });

  test("on a taken player_id is answered with the same refusal again, even once it is free", async () => {
    const first = (await player({ player_id: "held" })).body;
    const keyed = { "Idempotency-Key": "held" };
    const refusal = await refused(409, "conflict", player({ player_id: "held" }, keyed));
    await service.request("DELETE", `/api/players/${first.id}`);
    const again = await refused(409, "conflict", player({ player_id: "held" }, keyed));
    expect(again.text).toBe(refusal.text);
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    expect((await player({ player_id: "held" })).status).toBe(201);
  });

  test("ten times at once on a taken player_id is one refusal for all of them", async () => {
    await player({ player_id: "taken-by-many" });
    const keyed = { "Idempotency-Key": "refused-at-once" };
    const ask = () => refused(409, "conflict", player({ player_id: "taken-by-many" }, keyed));
    const answers = await Promise.all(Array.from({ length: 10 }, ask));
    expect(answers.filter(({ headers }) => headers.get("Idempotency-Replayed") === null)).toHaveLength(1);
  });

  test("twenty times at once makes one record", async () => {
    const keyed = { "Idempotency-Key": "twenty" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => player({ first_name: "Twenty" }, keyed)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    expect(answers.filter(({ headers }) => headers.get("Idempotency-Replayed") === "true")).toHaveLength(19);
    expect(await rows("Twenty")).toBe(1);
  });

  test("of each of many creates at once has its own answer and its own record, also beside refused ones", async () => {
    await player({ player_id: "taken" });
    const made = (index: number) => {
      if (index % 10 === 3) return { player_id: "taken", first_name: "Crowd" };
      if (index % 10 === 5) return { first_name: "Crowd", email: "nobody" };
      if (index % 10 === 7) return { player_id: `twin-${index}`, first_name: "Crowd" };
      return { first_name: "Crowd", tier: `T${index}` };
    };
    const key = (index: number) => ({ "Idempotency-Key": `crowd-${index % 10 === 8 ? index - 1 : index}` });
    const bodies = Array.from({ length: 60 }, (_, index) => made(index % 10 === 8 ? index - 1 : index));
    const all = await Promise.all(bodies.map((body, index) => player(body, key(index))));
    for (const [index, { status, body, text }] of all.entries()) {
      const expected = { 3: 409, 5: 400 }[index % 10] ?? 201;
      expect(status, text).toBe(expected);
      if (status === 201) expect(body).toMatchObject(bodies[index]!);
      if (index % 10 === 8) expect(text).toBe(all[index - 1]!.text);
    }
    expect(await rows("Crowd")).toBe(60 - 6 - 6 - 6);
    const ids = new Set(all.filter(({ status }) => status === 201).map(({ body }) => body.id));
    const audits = await service.get("/api/audit_logs?action.eq=create_player&limit=1000");
    const seen = audits.body.map(({ entity_id }: { entity_id: string }) => entity_id);
    expect(seen.filter((id: string) => ids.has(id))).toHaveLength(ids.size);
    const again = await Promise.all(bodies.map((body, index) => player(body, key(index))));
    for (const [index, { status, text }] of again.entries()) {
      expect(status).toBe(all[index]!.status);
      if (status === 201) expect(text).toBe(all[index]!.text);
    }
    expect(await rows("Crowd")).toBe(42);
  });

  test("that is not 1 to 255 visible characters is refused", async () => {
    for (const key of ["a b", "x".repeat(256), "é"])
      await refused(400, "invalid", player({}, { "Idempotency-Key": key }));
  });

  test("replays a refusal of the domain, and not one of the request", async () => {
    const missing = { "Idempotency-Key": "missing" };
    const change = () =>
      service.request("PATCH", `/api/players/${NOWHERE}`, { body: { first_name: "N" }, headers: missing });
    await refused(404, "not_found", change());
    const replay = await refused(404, "not_found", change());
    expect(replay.headers.get("Idempotency-Replayed")).toBe("true");
    await player({ player_id: "taken" });
    const taken = { "Idempotency-Key": "taken" };
    await refused(409, "conflict", player({ player_id: "taken" }, taken));
    expect((await player({ player_id: "taken" }, taken)).headers.get("Idempotency-Replayed")).toBe("true");
    const wrong = { "Idempotency-Key": "wrong" };
    await refused(400, "invalid", player({ adt: "much" }, wrong));
    expect(await player({ adt: 5 }, wrong)).toMatchObject({ status: 201 });
  });

  test("belongs to the property, and counts for each of its API keys", async () => {
    const other = await service.newTenant();
    const keyed = { "Idempotency-Key": "shared" };
    const one = await player({ first_name: "Una" }, keyed);
    const theirs = await player({ first_name: "Una" }, { ...keyed, "X-Api-Key": other.key });
    expect(theirs.headers.get("Idempotency-Replayed")).toBeNull();
    expect(theirs.body.id).not.toBe(one.body.id);
    await refused(
      403,
      "insufficient_scope",
      player({ first_name: "Una" }, { ...keyed, "X-Api-Key": service.tenant.readKey }),
    );
  });

  test("on an export of a person's data gives the same one, asks for none again, and goes with the person", async () => {
    const email = "exported@example.com";
    const { body: person } = await player({ email });
    const input = { propertyId: service.tenant.id, playerId: person.id };
    const fn = (name: string, key: string, more: object = {}) =>
      service.post(`/api/functions/${name}`, { ...input, ...more }, { "Idempotency-Key": key });
    const answers = [await fn("data-export", "export-1"), await fn("data-export", "export-1")];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[0]!.text).toBe(answers[1]!.text);
    expect(answers.map(({ headers }) => headers.get("Idempotency-Replayed"))).toEqual([null, "true"]);
    const requests = await service.get(`/api/privacy_requests?player_id=eq.${person.id}`);
    const audited = await service.get(`/api/audit_logs?entity_id=eq.${person.id}&action=eq.data_export`);
    expect([requests.body.length, audited.body.length]).toEqual([1, 1]);
    await refused(422, "idempotency_key_reused", fn("data-export", "export-1", { playerId: NOWHERE }));
    expect((await fn("data-deletion", "deletion-1")).status).toBe(200);
    const left = await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`select key from idempotency_records where body like ${`%${email}%`}`,
    );
    expect([...left]).toEqual([]);
    expect((await fn("data-export", "export-1")).text).not.toContain(email);
  });

  test("makes no answer to a check outlive the consent that it tells of", async () => {
    const { body: person } = await player({ email: "checked@example.com" });
    const property = { propertyId: service.tenant.id };
    const about = { ...property, playerId: person.id, channel: "email" };
    await service.post("/api/functions/consent-record", { ...about, consentGiven: true });
    const check = () =>
      service.post(
        "/api/functions/compliance-check",
        { ...property, channel: "email", playerId: person.id },
        { "Idempotency-Key": "check-1" },
      );
    expect((await check()).body.allowed).toBe(true);
    await service.post("/api/functions/consent-revoke", about);
    expect((await check()).body.allowed).toBe(false);
  });

  test("does not show a secret again", async () => {
    const { token } = await service.signIn();
    const manager = { "X-Api-Key": null, Authorization: `Bearer ${token}`, "Idempotency-Key": "secret" };
    const make = () =>
      service.post(
        "/api/functions/create-api-key",
        { property_id: service.tenant.id, name: "once" },
        manager,
      );
    const [one, two] = [await make(), await make()];
    expect(one.body.api_key).toMatch(/^pk_/);
    expect(two.headers.get("Idempotency-Replayed")).toBe("true");
    expect(two.body).toEqual({ ...one.body, api_key: undefined });
    expect(two.text).not.toContain(one.body.api_key);
    const stored = await service.database.db.asSystem(
      (sql) => sql<{ body: string }[]>`select body from idempotency_records`,
    );
    expect(stored.filter(({ body }) => body?.includes(one.body.api_key))).toEqual([]);
  });
});

test("a failed sign-in is not replayed as a success", async () => {
  const { email } = await service.signIn();
  const headers = { "X-Api-Key": null, "Idempotency-Key": randomUUID() };
  for (const attempt of [1, 2]) {
    const answer = await service.post("/api/auth/login", { email, password: "not the password" }, headers);
    expect(answer.status, `attempt ${attempt}`).toBe(401);
  }
});

test("a replay of several new endpoints does not show their secrets", async () => {
  const headers = { "Idempotency-Key": randomUUID() };
  const input = [1, 2].map((n) => ({ url: `https://example.com/${n}`, events: ["*"] }));
  const first = await service.post("/api/webhook_endpoints", input, headers);
  const again = await service.post("/api/webhook_endpoints", input, headers);
  expect(first.text).toContain("whsec_");
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(again.text).not.toContain("whsec_");
  expect(again.body).toHaveLength(2);
});
