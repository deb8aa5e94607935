import { flattenedVerify, importJWK } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonical } from "#runtime/funnel/audit.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test("a receipt says what the ledger says, and anyone can verify its signature by the published keys", async () => {
  const propertyId = service.tenant.id;
  const player = (await service.post("/api/players", { email: "receipt@example.com", language: "en-US" }))
    .body;
  const { consent_id: consentId } = await service.call("consent_record", {
    propertyId,
    playerId: player.id,
    channel: "email",
    consentGiven: true,
    consentSource: "web form",
    consentText: "Yes — write to me",
    consentVersion: "v3",
    occurredAt: "2026-01-02T03:04:05.678Z",
  });
  const ask = (input: object) => service.post("/api/functions/consent-receipt", { propertyId, ...input });
  const { status, body } = await ask({ playerId: player.id, consentId });
  expect(status).toBe(200);
  expect(body.receipt).toMatchObject({
    version: "KI-CR-v1.1.0",
    jurisdiction: "US",
    consentTimestamp: 1767323045,
    collectionMethod: "web form",
    consentReceiptID: consentId,
    language: "en-US",
    piiPrincipalId: player.id,
    piiControllers: [{ piiController: "Casino LLC", address: "1 Main Street, Reno, NV 89501" }],
    services: [{ purposes: [{ consentType: "EXPLICIT", primaryPurpose: true }] }],
    sensitive: false,
    event: { state: "given", notice: "Yes — write to me", notice_version: "v3" },
  });
  const [header, payload, signature] = (body.jws as string).split(".");
  expect(payload).toBe("");
  const { kid } = JSON.parse(Buffer.from(header!, "base64url").toString());
  const jwk = (await service.get("/.well-known/jwks.json")).body.keys.find(
    (key: { kid: string }) => key.kid === kid,
  );
  const verify = async (receipt: object) =>
    flattenedVerify(
      {
        protected: header!,
        payload: Buffer.from(canonical(receipt)).toString("base64url"),
        signature: signature!,
      },
      await importJWK(jwk),
    );
  await expect(verify(body.receipt)).resolves.toBeDefined();
  await expect(verify({ ...body.receipt, consentTimestamp: 1 })).rejects.toThrow("signature");
  const other = (await service.post("/api/players", { email: "other@example.com" })).body;
  expect((await ask({ playerId: other.id, consentId })).status).toBe(404);
  expect((await service.get("/api/audit_logs?action.eq=consent_receipt")).body).toMatchObject([
    { entity_id: consentId },
  ]);
});
