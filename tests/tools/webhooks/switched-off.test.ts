import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql as part } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
const gone = createServer((_, response) => response.writeHead(410).end());
beforeAll(async () => {
  service = await startService();
  await new Promise<void>((ready) => gone.listen(0, "127.0.0.1", ready));
});
afterAll(async () => {
  gone.close();
  await service?.stop();
});

test("admins and managers of the property are told by email that an endpoint was switched off, and nobody else", async () => {
  const [admin, manager] = [await service.signIn(), await service.signIn({ role: "manager" })];
  const [analyst, platform] = [
    await service.signIn({ role: "analyst" }),
    await service.signIn({ role: null, platformAdmin: true }),
  ];
  const { port } = gone.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/hook/secret-path`;
  const { body: endpoint } = await service.post("/api/webhook_endpoints", {
    url,
    events: ["player.created"],
  });
  await service.post("/api/players", { player_id: "one" });
  await service.post("/api/players", { player_id: "two" });
  await service.idle();
  expect((await service.get(`/api/webhook_endpoints/${endpoint.id}`)).body.is_active).toBe(false);
  const { messages } = await service.call("list_platform_messages", { limit: 100 });
  const to = (email: string) =>
    messages.filter(({ recipient }: { recipient: string }) => recipient === email);
  expect([admin, manager, analyst, platform].map(({ email }) => to(email).length)).toEqual([1, 1, 0, 0]);
  const [{ text }] = to(admin.email);
  expect(text).toContain(`${endpoint.id} of ${`Casino ${service.tenant.slug}`}, at 127.0.0.1:${port},`);
  expect(text).toContain("The receiver answered 410 Gone.");
  expect(text).not.toContain("secret-path");
});

test("events of many rows wait for no endpoint that is switched off", async () => {
  const { db } = service.internals;
  const tenant = await service.newTenant();
  const endpoints: string[] = [];
  for (const path of ["on", "off"]) {
    const record = { url: `https://receiver.example/${path}`, events: ["player.updated"] };
    endpoints.push((await service.call("create_webhook_endpoint", record, tenant.id)).id);
  }
  await service.call("update_webhook_endpoint", { id: endpoints[1], is_active: false }, tenant.id);
  await expect(
    db.asProperty(tenant.id, async (sql) => {
      await emitMany(
        sql,
        tenant.id,
        "player.updated",
        part`select jsonb_build_object('id', n) as object from generate_series(1, 2) n`,
      );
      const waiting = await sql<{ endpoint_id: string; events: number }[]>`
        select endpoint_id, cardinality(event_ids) as events from webhook_backlog where property_id = ${tenant.id}`;
      expect([...waiting]).toEqual([{ endpoint_id: endpoints[0], events: 2 }]);
      throw new Error("nothing is sent");
    }),
  ).rejects.toThrow("nothing is sent");
});
