import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let player: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  player = (await service.post("/api/players", { email: "ann@example.com" })).body.id;
});
afterAll(() => service?.stop());

const consent = (input: object) =>
  service.post("/api/functions/consent-record", {
    propertyId: service.tenant.id,
    playerId: player,
    channel: "email",
    consentGiven: true,
    ...input,
  });

describe("a consent", () => {
  test("comes from an IP address, or from none", async () => {
    for (const ipAddress of ["", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "<script>", "1.2.3.4 "]) {
      const { body } = await refused(400, "invalid", consent({ ipAddress }));
      expect(body.details[0].field).toBe("ipAddress");
    }
    for (const ipAddress of ["203.0.113.9", "2001:db8::9"])
      expect((await consent({ ipAddress })).status).toBe(200);
  });

  test("was given between 1900 and now", async () => {
    for (const occurredAt of ["0001-01-01T00:00:00Z", "1899-12-31T23:59:59Z", "2999-01-01T00:00:00Z"]) {
      const { body } = await refused(400, "invalid", consent({ occurredAt }));
      expect(body.details[0].field).toBe("occurredAt");
    }
    const revoke = (requestedAt: string) =>
      service.post("/api/functions/consent-revoke", {
        propertyId: service.tenant.id,
        playerId: player,
        requestedAt,
      });
    await refused(400, "invalid", revoke("0001-01-01T00:00:00Z"));
    expect((await consent({ occurredAt: "1950-01-01T00:00:00Z" })).status).toBe(200);
  });
});
