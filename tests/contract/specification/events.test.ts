import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EVENT_NAMES } from "#runtime/operation/events.ts";
import { type Received, webhookReceiver } from "../../support/servers/receivers.ts";
import { startService, type TestService } from "../../support/service.ts";
import { consenting } from "./fields.ts";

let service: TestService;
let receiver: Awaited<ReturnType<typeof webhookReceiver>>;
let secret: string;

beforeAll(async () => {
  service = await startService();
  receiver = await webhookReceiver();
  const { body } = await service.post("/api/webhook_endpoints", {
    url: receiver.url,
    events: ["campaign.sent", "player.created", "consent.revoked"],
  });
  secret = body.secret;
});
afterAll(async () => {
  await service?.stop();
  await receiver?.stop();
});

const arrived = async (event: string): Promise<Received> => {
  const found = () => receiver.received.find(({ headers }) => headers["x-service-event"] === event);
  await expect.poll(found).toBeDefined();
  return found()!;
};

describe("Events", () => {
  test("categories are campaign, player, consent and game; names are <category>.<action>", () => {
    const categories = new Set(EVENT_NAMES.map((name) => name.split(".")[0]));
    for (const category of ["campaign", "player", "consent", "game"]) expect(categories).toContain(category);
    for (const name of EVENT_NAMES) expect(name).toMatch(/^[a-z]+\.[a-z_]+$/);
  });

  test("player.created, consent.revoked and campaign.sent are posted, each with the three headers", async () => {
    const id = await consenting(service, { email: "event@example.com", tier: "Told" });
    await consenting(service, { email: "left@example.com" });
    const { body: campaign } = await service.post("/api/campaigns", {
      name: "Told",
      subject: "Hello",
      body_text: "Hello",
      conditions: [{ field: "tier", operator: "eq", value: "Told" }],
    });
    await service.post("/api/functions/send-campaign", {
      campaignId: campaign.id,
      propertyId: service.tenant.id,
    });
    await arrived("campaign.sent");
    await service.post("/api/functions/consent-revoke", { propertyId: service.tenant.id, playerId: id });
    for (const event of ["player.created", "campaign.sent", "consent.revoked"]) {
      const { headers } = await arrived(event);
      expect(headers["x-service-event"]).toBe(event);
      expect(headers["x-service-timestamp"]).toMatch(/^\d{10}$/);
      expect(headers["x-service-signature"]).toMatch(/^v1=[0-9a-f]{64}$/);
    }
  });

  test("An endpoint subscribes by listing names in its events array: it gets no other", async () => {
    const { body } = await service.post("/api/players", { first_name: "Quiet" });
    await service.request("PATCH", `/api/players/${body.id}`, { body: { tier: "Gold" } });
    await service.idle();
    const names = new Set(receiver.received.map(({ headers }) => headers["x-service-event"]));
    expect([...names].sort()).toEqual(["campaign.sent", "consent.revoked", "player.created"]);
  });

  test("An unknown name cannot be subscribed to", async () => {
    const input = { url: receiver.url, events: ["player.vanished"] };
    expect((await service.post("/api/webhook_endpoints", input)).status).toBe(400);
  });
});

describe("Signature rules", () => {
  test("1. v1= and the hex of HMAC-SHA256, keyed with the endpoint's secret, over <timestamp>.<raw_body>", async () => {
    const { headers, raw } = await arrived("player.created");
    const signed = `${headers["x-service-timestamp"]}.${raw}`;
    const expected = createHmac("sha256", secret).update(signed).digest("hex");
    expect(headers["x-service-signature"]).toBe(`v1=${expected}`);
  });

  test("3. The timestamp is within a few minutes of now", async () => {
    const { headers } = await arrived("player.created");
    expect(Math.abs(Date.now() / 1000 - Number(headers["x-service-timestamp"]))).toBeLessThan(300);
  });
});
