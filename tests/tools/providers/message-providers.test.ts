import { afterAll, beforeAll, expect, test } from "vitest";
import { openCredentials } from "#tools/providers/provider.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web", webhooksAllowPrivate: false });
});
afterAll(() => service?.stop());

const SES = { region: "us-east-1", access_key_id: "AKIAEXAMPLE", secret_access_key: "very-s3cret" };
let count = 0;
const provider = (changes: object = {}) => {
  count += 1;
  return { channel: "email", kind: "ses", name: `Provider ${count}`, credentials: SES, ...changes };
};
const create = (changes: object = {}) => service.post("/api/message_providers", provider(changes));

test("credentials are stored sealed, for their record alone, and never shown", async () => {
  const key = { "Idempotency-Key": "ses-1" };
  const body = provider();
  const made = await service.post("/api/message_providers", body, key);
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ kind: "ses", health: "unknown", is_default: false, priority: 100 });
  expect(made.body.callback_path).toBe(`/api/callbacks/ses/${made.body.id}`);
  const answers = [
    made,
    await service.post("/api/message_providers", body, key),
    await service.get(`/api/message_providers/${made.body.id}`),
    await service.request("PATCH", `/api/message_providers/${made.body.id}`, { body: { priority: 5 } }),
    await service.get("/api/audit_logs?limit=1000"),
  ];
  for (const { text } of answers) expect(text).not.toMatch(/s3cret|AKIA|credentials":/);
  const stored = await service.internals.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ id: string; credentials: string }[]>`
      select id, credentials from message_providers where property_id = ${service.tenant.id} and id = ${made.body.id}`,
  );
  expect(stored[0]!.credentials).toMatch(/^sealed:1:/);
  const { config } = service.internals;
  expect(openCredentials(config, service.tenant.id, stored[0]!)).toEqual(SES);
  const elsewhere = { ...stored[0]!, id: service.tenant.id };
  expect(() => openCredentials(config, service.tenant.id, elsewhere)).toThrow(/write them again/);
});

test("credentials cannot be filtered or ordered by", async () => {
  for (const query of ["credentials.like=*s3*", "order=credentials.asc", "select=credentials"]) {
    expect((await service.get(`/api/message_providers?${query}`)).status, query).toBe(400);
  }
});

test("credentials that the vendor's adapter does not take are refused, naming the field and not the value", async () => {
  const wrong = await create({ credentials: { ...SES, region: "very-s3cret" } });
  expect(wrong.status).toBe(400);
  expect(wrong.body.details).toEqual([
    { field: "credentials.region", message: "must be an AWS region, such as us-east-1" },
  ]);
  expect((await create({ kind: "resend" })).body.details[0].field).toBe("credentials.api_key");
  expect((await create({ channel: "sms" })).body.details[0].field).toBe("kind");
  expect((await create({ from_address: "nobody" })).body.details[0].field).toBe("from_address");
  const { id } = (await create()).body;
  const { status } = await service.request("PATCH", `/api/message_providers/${id}`, {
    body: { credentials: { region: "us-east-1" } },
  });
  expect(status).toBe(400);
});

test("a property's SMTP server is on the public internet", async () => {
  for (const host of [
    "127.0.0.1",
    "localhost",
    "10.1.2.3",
    "0x7f.1",
    "::1",
    "[::1]",
    "mail.internal",
    "mail",
  ]) {
    const { status, body } = await create({ kind: "smtp", credentials: { host } });
    expect(status, host).toBe(400);
    expect(body.details[0].field).toBe("credentials.host");
    expect(body.error).toMatch(/public internet\. WEBHOOK_ALLOW_PRIVATE=on lets it be, for development\.$/);
  }
  const byUrl = await create({
    kind: "smtp",
    credentials: { url: "smtp://u:very-s3cret@169.254.169.254:25" },
  });
  expect(byUrl.status).toBe(400);
  expect(byUrl.text).not.toContain("s3cret");
  expect((await create({ kind: "smtp", credentials: { host: "mail.example.com" } })).status).toBe(201);
});

test("a channel has one default: the one that was named last", async () => {
  const first = (await create({ is_default: true })).body;
  const second = (await create({ is_default: true })).body;
  const isDefault = async ({ id }: { id: string }) =>
    (await service.get(`/api/message_providers/${id}`)).body.is_default;
  expect([await isDefault(first), await isDefault(second)]).toEqual([false, true]);
  const both = await Promise.all([create({ is_default: true }), create({ is_default: true })]);
  expect(both.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual([]);
  const { body } = await service.get("/api/message_providers?is_default=is.true");
  expect(body).toHaveLength(1);
  const off = await service.request("PATCH", `/api/message_providers/${body[0].id}`, {
    body: { is_active: false },
  });
  expect(off.body).toMatchObject({ is_active: false, is_default: false });
});

test("a deleted provider forgets its credentials, and one that a campaign waits for cannot be deleted", async () => {
  const { id } = (await create()).body;
  const campaign = await service.post("/api/campaigns", {
    name: "Weekend",
    audience: "all",
    provider_id: id,
  });
  expect(campaign.body.provider_id).toBe(id);
  const set = (status: string) =>
    service.internals.db.asProperty(
      service.tenant.id,
      (sql) => sql`update campaigns set status = ${status} where property_id = ${service.tenant.id}`,
    );
  await set("sending");
  expect((await service.request("DELETE", `/api/message_providers/${id}`)).status).toBe(409);
  await set("sent");
  expect((await service.request("DELETE", `/api/message_providers/${id}`)).status).toBe(200);
  const [left] = await service.internals.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ id: string; credentials: string }[]>`
      select id, credentials from message_providers where property_id = ${service.tenant.id} and id = ${id}`,
  );
  expect(openCredentials(service.internals.config, service.tenant.id, left!)).toEqual({});
});

test("a campaign names a provider of its own property and channel", async () => {
  const rival = await service.newTenant();
  const theirs = await service.post("/api/message_providers", provider(), { "X-Api-Key": rival.key });
  const naming = (provider_id: string) =>
    service.post("/api/campaigns", { name: "Mine", audience: "all", provider_id });
  expect((await naming(theirs.body.id)).status).toBe(404);
  const texting = (await create({ channel: "sms", kind: "mailbox", credentials: {} })).body;
  expect((await naming(texting.id)).status).toBe(400);
});

test("webhook secrets and signing keys are stored sealed, and plain ones of before still open", async () => {
  const made = await service.post("/api/webhook_endpoints", {
    url: "https://receiver.example/hook",
    events: ["*"],
  });
  expect(made.body.secret).toMatch(/^whsec_/);
  const stored = () =>
    service.internals.db.asProperty(
      service.tenant.id,
      (sql) =>
        sql`select secret, previous_secret from webhook_endpoints where property_id = ${service.tenant.id}`,
    );
  expect((await stored())[0]!.secret).toMatch(/^sealed:1:/);
  await service.post("/api/functions/rotate-webhook-secret", { endpointId: made.body.id });
  expect((await stored())[0]!.previous_secret).toMatch(/^sealed:1:/);
  const keys = await service.internals.db.asSystem((sql) => sql`select private_jwk from signing_keys`);
  expect(JSON.stringify(keys)).toMatch(/sealed:1:/);
  expect(JSON.stringify(keys)).not.toContain('"d"');
});
