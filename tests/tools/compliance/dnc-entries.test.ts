import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import type { Context } from "#runtime/operation/context.ts";
import dncEntries from "#tools/compliance/dnc-entries.table.ts";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let next = 2000;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

describe("a do-not-call entry", () => {
  const entry = async () => (await service.post("/api/dnc_entries", { phone: `+1702555${next++}` })).body.id;

  test("is lifted by a manager with an audit row that says what it was, and by no key", async () => {
    const id = await entry();
    const { body: told } = await refused(
      403,
      "forbidden",
      service.request("DELETE", `/api/dnc_entries/${id}`),
    );
    expect(told.error).toContain("admin or manager");
    await refused(403, "forbidden", service.request("DELETE", `/api/dnc_entries?id=eq.${id}`));
    const reading = { headers: { "X-Api-Key": service.tenant.readKey } };
    await refused(403, "insufficient_scope", service.request("DELETE", `/api/dnc_entries/${id}`, reading));
    const analyst = await service.signIn({ role: "analyst" });
    const as = (token: string) => ({ headers: { "X-Api-Key": null, Authorization: `Bearer ${token}` } });
    expect((await service.request("DELETE", `/api/dnc_entries/${id}`, as(analyst.token))).status).toBe(403);
    expect((await service.get(`/api/dnc_entries/${id}`)).status).toBe(200);
    const manager = await service.signIn({ role: "manager" });
    expect((await service.request("DELETE", `/api/dnc_entries/${id}`, as(manager.token))).status).toBe(200);
    const { body } = await service.get(`/api/audit_logs?entity_id.eq=${id}&action.eq=delete_dnc_entry`);
    expect(body).toMatchObject([{ actor: { type: "user", id: manager.id }, diff: { list: "internal" } }]);
  });

  test("of a number that the property's country has not is refused with the way to write it", async () => {
    const { body } = await refused(
      400,
      "invalid",
      service.post("/api/dnc_entries", { phone: "612 34 56 78" }),
    );
    expect(body.error).toBe(
      "phone: is not a possible phone number; give it as +12025550123, or as dialed in US",
    );
  });

  test("that has ended is listed anew, and one that ends in the past is refused", async () => {
    const phone = `+1702555${next++}`;
    const list = (fields: object) => service.post("/api/dnc_entries", { phone, ...fields });
    const { body: told } = await refused(400, "invalid", list({ expires_at: "2020-01-01T00:00:00Z" }));
    expect(told.error).toBe("expires_at: has passed already");
    const first = (await list({ expires_at: "2099-01-01T00:00:00Z" })).body;
    await refused(409, "conflict", list({}));
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        update dnc_entries set expires_at = now()
        where property_id = ${service.tenant.id} and id = ${first.id}`,
    );
    const again = await list({});
    expect([again.status, again.body.expires_at]).toEqual([201, null]);
    const propertyId = service.tenant.id;
    const { body } = await service.post("/api/functions/compliance-check", {
      propertyId,
      channel: "sms",
      phone,
    });
    expect(body.reasons).toContain("dnc");
    const audit = await service.get(`/api/audit_logs?entity_id.eq=${again.body.id}`);
    expect(audit.body[0].diff.replaced.id).toBe(first.id);
  });

  test("of an array is checked as if it came alone behind those before it", async () => {
    const [ended, named, other] = [0, 1, 2].map(() => `+1702555${next++}`);
    const first = (await service.post("/api/dnc_entries", { phone: ended, note: "first" })).body;
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        update dnc_entries set expires_at = now()
        where property_id = ${service.tenant.id} and id = ${first.id}`,
    );
    const rows = [
      { phone: other, note: "0" },
      { phone: ended, note: "1" },
      { phone: other, list: "reassigned", note: "2" },
      { phone: named, expires_at: "2099-01-01T00:00:00Z", note: "3" },
    ];
    for (const [bad, status, error] of [
      [{ phone: other }, 409, /^Record \[4\]: This number is already on the internal list, as /],
      [{ phone: named }, 409, /^Record \[4\]: This number is already on the internal list until 2099-01-01/],
      [{ phone: "12" }, 400, /^Record \[4\]: phone: is not a possible phone number/],
      [
        { phone: named, list: "state", expires_at: "2020-01-01T00:00:00Z" },
        400,
        /^Record \[4\]: expires_at: /,
      ],
    ] as const) {
      const { status: answered, body } = await service.post("/api/dnc_entries", [
        ...rows,
        bad,
        { phone: "1" },
      ]);
      expect([answered, body.error]).toEqual([status, expect.stringMatching(error)]);
    }
    const { status, body } = await service.post("/api/dnc_entries", rows);
    expect([status, body.map(({ note }: { note: string }) => note)]).toEqual([201, ["0", "1", "2", "3"]]);
    const listed = await service.get("/api/dnc_entries?note=in.(0,1,2,3,first)&select=note");
    expect(listed.body.map(({ note }: { note: string }) => note)).toEqual(["3", "2", "1", "0"]);
    const replaced = async (index: number) =>
      (await service.get(`/api/audit_logs?entity_id.eq=${body[index].id}`)).body[0].diff?.replaced?.id;
    expect([await replaced(0), await replaced(1)]).toEqual([undefined, first.id]);
  });

  test("that a repeated call finds gone was replaced by nobody", async () => {
    const phone = `+1702555${next++}`;
    const first = (await service.post("/api/dnc_entries", { phone })).body;
    const property = service.tenant.id;
    const { db } = service.database;
    await db.asProperty(
      property,
      (sql) =>
        sql`update dnc_entries set expires_at = now() where property_id = ${property} and id = ${first.id}`,
    );
    // The first attempt was ended for another call, which has lifted the entry. Both have the one parsed input.
    const change = { verb: "create" as const, input: { phone, list: "internal" as const }, current: null };
    const audited: unknown[] = [];
    const attempt = async () => {
      const about = {
        property: (await service.internals.directory.property(property))!,
        transport: "job",
      } as const;
      return workAsSystem(service.internals, { ...about, requestId: randomUUID() }, async (context) => {
        await dncEntries.beforeWrites!(context, [change]);
        const own: Context = { ...context, audit: (one) => void audited.push(one) };
        await dncEntries.afterWrite!(own, { ...change, row: first });
        throw new Error("ended");
      }).catch(() => {});
    };
    await attempt();
    expect(audited).toEqual([{ diff: { replaced: expect.objectContaining({ id: first.id }) } }]);
    await db.asProperty(
      property,
      (sql) => sql`delete from dnc_entries where property_id = ${property} and id = ${first.id}`,
    );
    await attempt();
    expect(audited).toHaveLength(1);
  });

  test("cannot be made to end by a key either", async () => {
    const id = await entry();
    const patch = (expires_at: string | null) =>
      service.request("PATCH", `/api/dnc_entries/${id}`, { body: { expires_at } });
    await refused(403, "forbidden", patch("2020-01-01T00:00:00Z"));
    await refused(403, "forbidden", patch("2099-01-01T00:00:00Z"));
    expect((await patch(null)).status).toBe(200);
    expect((await service.get(`/api/dnc_entries/${id}`)).body.expires_at).toBeNull();
  });
});
