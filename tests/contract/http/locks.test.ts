import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const OBJECT = { Accept: "application/vnd.pgrst.object+json" };
const ROWS = { Prefer: "return=representation" };
const made = (table: string) =>
  service.post(`/api/${table}`, {
    name: `${table} ${randomUUID()}`,
    ...(table === "segments" && { type: "static" }),
  });
const patch = (path: string, body: object, headers: Record<string, string> = {}) =>
  service.request("PATCH", path, { body, headers });
const remove = (path: string, headers: Record<string, string> = {}) =>
  service.request("DELETE", path, { headers });

describe.each(["campaigns", "segments", "templates"])("a record of %s", (table) => {
  test("has one ETag, the same from every answer, and another one after each change", async () => {
    const created = await made(table);
    const path = `/api/${table}/${created.body.id}`;
    const etag = created.headers.get("ETag")!;
    expect(etag).toMatch(/^"1-[\w-]{22}"$/);
    expect((await service.get(path)).headers.get("ETag")).toBe(etag);
    const changed = await patch(path, { name: `changed ${randomUUID()}` }, { "If-Match": etag });
    expect(changed.status).toBe(200);
    const next = changed.headers.get("ETag");
    expect(next).toMatch(/^"2-/);
    expect((await service.get(path)).headers.get("ETag")).toBe(next);
  });

  test("is not changed or deleted by who has seen an older one, and nothing is written", async () => {
    const created = await made(table);
    const path = `/api/${table}/${created.body.id}`;
    const stale = created.headers.get("ETag")!;
    await patch(path, { name: `first ${randomUUID()}` });
    const before = (await service.get(path)).text;
    for (const condition of [stale, `"1"`, `W/${stale}`, '"another"', `${stale}, "x"`]) {
      const headers = { "If-Match": condition };
      await refused(412, "precondition_failed", patch(path, { name: "second" }, headers));
      await refused(412, "precondition_failed", remove(path, headers));
    }
    const { body } = await refused(409, "conflict", patch(path, { name: "second", version: 1 }));
    expect(body.details[0].field).toBe("version");
    for (const condition of ["3-x", '"open', "*, *", ","]) {
      await refused(400, "invalid", patch(path, { name: "second" }, { "If-Match": condition }));
    }
    expect((await service.get(path)).text).toBe(before);
    expect((await patch(path, { name: `third ${randomUUID()}`, version: 2 })).body.version).toBe(3);
    expect((await patch(path, {}, { "If-Match": '"3"' })).status).toBe(200);
    expect((await remove(path, { "If-Match": "*" })).status).toBe(200);
    await refused(404, "not_found", patch(path, {}, { "If-Match": "*" }));
  });
});

test("a read with the ETag of the record's state is answered 304 without a body", async () => {
  const { body, headers } = await made("campaigns");
  const path = `/api/campaigns/${body.id}`;
  const etag = headers.get("ETag")!;
  const read = (condition: string) => service.get(path, { "If-None-Match": condition });
  for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const known = await read(condition);
    expect([known.status, known.text, known.headers.get("ETag")], condition).toEqual([304, "", etag]);
    expect(known.headers.get("API-Version")).not.toBeNull();
    expect(known.headers.get("X-RateLimit-Limit")).not.toBeNull();
  }
  expect((await read('"x"')).body.id).toBe(body.id);
  await refused(400, "invalid", read("x"));
  await patch(path, { name: `other ${randomUUID()}` });
  expect((await read(etag)).body.version).toBe(2);
});

test("of ten who change what they have all seen, one wins", async () => {
  const { body, headers } = await made("campaigns");
  const condition = { "If-Match": headers.get("ETag")! };
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => patch(`/api/campaigns/${body.id}`, { subject: `n${n}` }, condition)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
});

test("a state that changes by itself is another ETag, though the version is the same", async () => {
  const { body, headers } = await made("campaigns");
  await service.call(
    "update_campaign",
    { id: body.id, audience: "all", subject: "x", body_text: "x {{ unsubscribe_url }}" },
    service.tenant.id,
  );
  const before = await service.get(`/api/campaigns/${body.id}`);
  await service.call("send_campaign", { campaignId: body.id, propertyId: service.tenant.id });
  const after = await service.get(`/api/campaigns/${body.id}`);
  expect(after.body.version).toBe(before.body.version);
  expect(after.headers.get("ETag")).not.toBe(before.headers.get("ETag"));
  expect(headers.get("ETag")).not.toBe(before.headers.get("ETag"));
});

test("If-Match is refused where it could not be kept", async () => {
  const { body } = await service.post("/api/players", { tier: "Lead" });
  const condition = { "If-Match": "*" };
  await refused(400, "invalid", patch(`/api/players/${body.id}`, { tier: "Gold" }, condition));
  await refused(400, "invalid", patch("/api/campaigns?name=eq.x", { subject: "x" }, condition));
  await refused(400, "invalid", service.post("/api/campaigns", { name: "x" }, condition));
  expect((await service.get(`/api/players/${body.id}`)).body.tier).toBe("Lead");
});

describe("a change of a collection", () => {
  test("chooses its rows when it writes them: of many that take the same state, one gets each row", async () => {
    const tier = randomUUID();
    await service.post(
      "/api/players",
      Array.from({ length: 5 }, () => ({ tier })),
    );
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        patch(`/api/players?tier=eq.${tier}`, { tier: `taken ${tier} by ${n}` }),
      ),
    );
    const taken = answers.flatMap(({ body }) => body as { id: string; tier: string }[]);
    expect(taken).toHaveLength(5);
    expect(new Set(taken.map(({ id }) => id)).size).toBe(5);
    expect(new Set(taken.map((row) => row.tier)).size).toBe(1);
  });

  test("removes each row once, and shows it to one alone", async () => {
    const tier = randomUUID();
    await service.post(
      "/api/players",
      Array.from({ length: 5 }, () => ({ tier })),
    );
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => remove(`/api/players?tier=eq.${tier}`, ROWS)),
    );
    expect(answers.flatMap(({ body }) => body).map((row: { tier: string }) => row.tier)).toEqual(
      Array.from({ length: 5 }, () => tier),
    );
  });

  test("with a key replays the rows that it changed or removed, also after later changes", async () => {
    const tier = randomUUID();
    await service.post("/api/players", [
      { tier, first_name: "A" },
      { tier, first_name: "B" },
    ]);
    const key = (name: string) => ({ "Idempotency-Key": `${name}-${tier}` });
    const change = () =>
      patch(`/api/players?tier=eq.${tier}`, { tier: `${tier}x` }, { ...key("p"), ...ROWS });
    const [first, again] = [await change(), await change()];
    expect(first.body).toHaveLength(2);
    expect({ text: again.text, replayed: again.headers.get("Idempotency-Replayed") }).toEqual({
      text: first.text,
      replayed: "true",
    });
    const drop = (headers: Record<string, string>) =>
      remove(`/api/players?tier=eq.${tier}x`, { ...key("d"), ...headers });
    const [gone, told] = [await drop(ROWS), await drop(ROWS)];
    expect(gone.body.map((row: { first_name: string }) => row.first_name).sort()).toEqual(["A", "B"]);
    expect({ text: told.text, replayed: told.headers.get("Idempotency-Replayed") }).toEqual({
      text: gone.text,
      replayed: "true",
    });
    expect((await drop({})).body).toEqual([{ success: true }, { success: true }]);
    const single = () =>
      patch(
        `/api/players?player_id=eq.${tier}`,
        { tier: "One", player_id: `${tier}-2` },
        { ...key("s"), ...OBJECT },
      );
    await service.post("/api/players", { player_id: tier });
    const [one, replay] = [await single(), await single()];
    expect({ status: one.status, text: replay.text }).toEqual({ status: 200, text: one.text });
  });

  test("that is wrong is refused whole, also where it matches nothing", async () => {
    await refused(400, "invalid", patch("/api/players?tier=eq.nobody", { shoe_size: 5 }));
    await refused(400, "invalid", patch("/api/players?tier=eq.nobody", { adt: "much" }));
    await refused(400, "invalid", patch("/api/players?shoe=eq.5", { tier: "X" }));
    await refused(
      401,
      "missing_credential",
      service.request("DELETE", "/api/players", { headers: { "X-Api-Key": null } }),
    );
  });

  test("leaves an audit row for each that it touched", async () => {
    const tier = randomUUID();
    const { body } = await service.post("/api/players", [{ tier }, { tier }, { tier }]);
    await remove(`/api/players?tier=eq.${tier}`);
    const logs = await service.get("/api/audit_logs?action.eq=delete_player&order=created_at.desc&limit=3");
    const named = logs.body.map(({ entity_id }: { entity_id: string }) => entity_id);
    expect(named.sort()).toEqual(body.map(({ id }: { id: string }) => id).sort());
  });

  test("of more than a thousand rows is refused and changes none", async () => {
    const tier = randomUUID();
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        insert into players (property_id, player_id, tier)
        select ${service.tenant.id}, ${tier} || n, ${tier} from generate_series(1, 1001) as n returning 1`,
    );
    await refused(400, "invalid", patch(`/api/players?tier=eq.${tier}`, { tier: "X" }));
    const { headers } = await service.get(`/api/players?tier=eq.${tier}&limit=1`, { Prefer: "count=exact" });
    expect(headers.get("Content-Range")).toBe("0-0/1001");
  });
});
