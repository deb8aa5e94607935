import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { refused } from "../../support/answers.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

type Fields = Record<string, unknown>;

/** A player, and calls about their consent to email. */
async function person(fields: Fields = {}) {
  const email = (fields.email as string | undefined) ?? `${randomUUID().slice(0, 8)}@example.com`;
  const { body } = await service.post("/api/players", {
    email,
    first_name: "Renée",
    last_name: "Dubois",
    ...fields,
  });
  const about = { propertyId: service.tenant.id, playerId: body.id as string, channel: "email" };
  const said = { ...about, consentGiven: true };
  return {
    id: body.id as string,
    number: body.player_id as string,
    email,
    consent: (input: Fields = {}) => service.post("/api/functions/consent-record", { ...said, ...input }),
    refuse: () => service.post("/api/functions/consent-record", { ...about, consentGiven: false }),
    revoke: () => service.post("/api/functions/consent-revoke", about),
    agent: ({ confirm_token, ...input }: Fields = {}) =>
      onceOverMcp(
        service,
        CATALOG.operations.get("consent_record")!,
        { ...said, ...input, ...(confirm_token !== undefined && { confirm_token }) },
        { "X-Api-Key": service.tenant.key },
      ),
    async isAllowed(): Promise<boolean> {
      const asked = { propertyId: service.tenant.id, channel: "email", emails: [email] };
      return (await service.post("/api/functions/compliance-check", asked)).body.allowed;
    },
  };
}

type Person = Awaited<ReturnType<typeof person>>;

const anyEmail = () => `${randomUUID().slice(0, 8)}@example.com`;

async function imported(input: Fields): Promise<void> {
  expect((await service.post("/api/import_jobs", input)).status).toBe(202);
  await service.idle();
}

const evidence = { consentSource: "players club", consentText: "I agree to offers" };
const later = () => new Date().toISOString();

describe("the specification's minimal call", () => {
  test("stands where nothing stands against it", async () => {
    const ann = await person();
    expect((await ann.consent()).status).toBe(200);
    expect((await ann.consent()).status).toBe(200);
    expect(await ann.isAllowed()).toBe(true);
  });
});

describe("a refusal", () => {
  test.each(["refuse", "revoke"] as const)("is lifted by the person alone (%s)", async (say) => {
    const ann = await person();
    await ann.consent();
    const before = later();
    expect((await ann[say]()).status).toBe(200);
    const attempts: Fields[] = [
      {},
      { occurredAt: later() },
      evidence,
      { consentSource: "web form", occurredAt: later() },
      { consentText: "I agree", occurredAt: later() },
      { ...evidence, occurredAt: before },
      { consentSource: " ", consentText: "\n", occurredAt: later() },
      { consentSource: "web form", consentText: "\u200b", occurredAt: later() },
      { ...evidence, consentLevel: "implied", occurredAt: later() },
    ];
    for (const attempt of attempts) {
      const { body } = await refused(409, "conflict", ann.consent(attempt));
      expect(body.error).toMatch(/last word on email is a refusal, of 20.+ and only the person lifts it/);
      expect(body.error).not.toMatch(/consentLevel/);
      expect(await ann.isAllowed(), JSON.stringify(attempt)).toBe(false);
    }
    expect((await ann.consent({ ...evidence, occurredAt: later() })).status).toBe(200);
    expect(await ann.isAllowed()).toBe(true);
    // Once lifted, it asks for no later moment again.
    for (const input of [{}, evidence]) expect((await ann.consent(input)).status).toBe(200);
  });

  test("of the very moment of a consent is not lifted by it", async () => {
    const ann = await person();
    const occurredAt = later();
    expect((await ann.consent({ consentGiven: false, occurredAt })).status).toBe(200);
    await refused(409, "conflict", ann.consent({ ...evidence, occurredAt }));
  });

  test.each([{}, { method: "stop_keyword" }])(
    "of an address stands against its later holders (%o)",
    async (how) => {
      const email = `${randomUUID().slice(0, 8)}@example.com`;
      await service.post("/api/functions/consent-revoke", {
        propertyId: service.tenant.id,
        email,
        channel: "email",
        ...how,
      });
      const bea = await person({ email });
      await refused(409, "conflict", bea.consent(evidence));
      // Without a source it lifts nothing.
      expect((await bea.consent()).status).toBe(200);
      expect(await bea.isAllowed()).toBe(false);
      expect((await bea.consent({ ...evidence, occurredAt: later() })).status).toBe(200);
      expect(await bea.isAllowed()).toBe(true);
    },
  );

  test("outlives the record: a person who is stored anew has still refused", async () => {
    const ann = await person();
    await ann.refuse();
    await service.request("DELETE", `/api/players/${ann.id}`);
    const again = await person({ email: ann.email });
    await refused(409, "conflict", again.consent());
  });

  /** Every way in which a record lets go of an address that its person has refused. */
  const LEAVING: [string, (ann: Person, other: Person) => Promise<unknown>][] = [
    ["is deleted", ({ id }) => service.request("DELETE", `/api/players/${id}`)],
    [
      "gets another address",
      ({ id }) => service.request("PATCH", `/api/players/${id}`, { body: { email: anyEmail() } }),
    ],
    [
      "loses its address",
      ({ id }) => service.request("PATCH", `/api/players/${id}`, { body: { email: null } }),
    ],
    [
      "gets another address by a file",
      async ({ number }) => imported({ rows: [{ player_id: number, email: anyEmail() }] }),
    ],
    [
      "is merged into one with another address",
      ({ id }, other) =>
        service.post("/api/functions/merge-players", {
          propertyId: service.tenant.id,
          playerId: other.id,
          duplicateId: id,
        }),
    ],
  ];

  test.each(LEAVING)("bars the address when its record %s, also against a file", async (_, leave) => {
    const ann = await person();
    await ann.refuse();
    await leave(ann, await person());
    const rows = [{ player_id: randomUUID(), email: ann.email, yes: "yes" }];
    await imported({ rows, mapping: { yes: "consent.email" }, consent: { channel: [], ...evidence } });
    expect(await ann.isAllowed()).toBe(false);
    const [again] = (await service.get(`/api/players?email.eq=${ann.email}`)).body;
    const about = { propertyId: service.tenant.id, playerId: again.id, channel: "email", consentGiven: true };
    const late = { ...about, ...evidence, occurredAt: later() };
    expect((await service.post("/api/functions/consent-record", late)).status).toBe(200);
    expect(await ann.isAllowed()).toBe(true);
  });

  test("bars no address that nobody has refused", async () => {
    const ann = await person();
    await ann.consent();
    await service.request("DELETE", `/api/players/${ann.id}`);
    const again = await person({ email: ann.email });
    expect((await again.consent()).status).toBe(200);
    expect(await again.isAllowed()).toBe(true);
  });

  test("of one channel says nothing of another", async () => {
    const ann = await person({ phone: "+17025550199" });
    await ann.refuse();
    expect((await ann.consent({ channel: "sms" })).status).toBe(200);
  });
});

describe("an agent", () => {
  test("always gives the evidence of a consent", async () => {
    const ann = await person();
    for (const input of [{}, { consentSource: "web form" }, { consentText: "I agree" }]) {
      const { isError, data } = await ann.agent(input);
      expect([isError, data.code]).toEqual([true, "invalid"]);
    }
    const { confirm_token } = (await ann.agent(evidence)).data;
    expect(await ann.isAllowed()).toBe(false);
    expect((await ann.agent({ ...evidence, confirm_token })).data).toMatchObject({ success: true });
    expect(await ann.isAllowed()).toBe(true);
  });

  test("asks before it lifts a refusal, by the person's name and the date", async () => {
    const ann = await person();
    await ann.refuse();
    const input = { ...evidence, occurredAt: later() };
    const asked = await ann.agent(input);
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data).not.toHaveProperty("success");
    expect(asked.data.message).toContain(`the player "${ann.number}", "Renée Dubois" refused email on 20`);
    expect(asked.data.message).toContain('"I agree to offers"');
    expect(await ann.isAllowed()).toBe(false);
    const { confirm_token } = asked.data;
    expect((await ann.agent({ ...input, confirm_token })).data).toMatchObject({ success: true });
    expect(await ann.isAllowed()).toBe(true);
  });

  test("lifts no refusal by an import, which a program may with date and wording", async () => {
    const ann = await person();
    await ann.refuse();
    const rows = [{ player_id: ann.number, email: ann.email, yes: "yes", at: later() }];
    const consent = { channel: [], ...evidence, occurred_at_column: "at" };
    const input = { rows, mapping: { yes: "consent.email" }, consent, on_conflict: "fill_blanks" };
    const tool = CATALOG.operations.get("create_import_job")!;
    const headers = { "X-Api-Key": service.tenant.key };
    const first = await onceOverMcp(service, tool, input, headers);
    const { confirm_token } = first.data;
    const { data } = confirm_token
      ? await onceOverMcp(service, tool, { ...input, confirm_token }, headers)
      : first;
    await service.idle();
    expect(await ann.isAllowed()).toBe(false);
    const errors = await service.get(`/api/import_jobs/${data.id}/errors`);
    expect(errors.body).toMatchObject([{ row: 1, code: "refusal_stands", column: "consent.email" }]);
    const { consentText: _, ...unworded } = consent;
    await service.post("/api/import_jobs", { ...input, consent: unworded });
    await service.idle();
    expect(await ann.isAllowed()).toBe(false);
    await service.post("/api/import_jobs", input);
    await service.idle();
    expect(await ann.isAllowed()).toBe(true);
  });
});
