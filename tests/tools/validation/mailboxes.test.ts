import { HttpResponse, http, passthrough } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { dnsServer } from "../../support/servers/dns-server.ts";
import { startService, type TestService } from "../../support/service.ts";

const URL_OF_VENDOR = "https://validation.example/v4/address/validate";

let service: TestService;
let dns: Awaited<ReturnType<typeof dnsServer>>;
let asked: string[];
let busy: number;
let status: number;

/** Mailgun, by its documentation: the answers that an address's name asks for. */
const ANSWERS: Record<string, object> = {
  good: { result: "deliverable", risk: "low", reason: [] },
  shaky: { result: "deliverable", risk: "high", reason: [] },
  gone: { result: "undeliverable", risk: "high", reason: ["mailbox_does_not_exist"] },
  full: { result: "undeliverable", risk: "high", reason: ["mailbox_full"] },
  any: { result: "catch_all", risk: "medium", reason: ["catch_all"] },
  trap: { result: "do_not_send", risk: "high", reason: ["high_risk_domain"] },
  slow: { result: "unknown", risk: "unknown", reason: ["unknown_provider"] },
  typo: { result: "undeliverable", risk: "high", reason: [], did_you_mean: "type@good.example" },
  odd: { result: "brand_new_word", risk: 7 },
};
const server = setupServer(
  http.all("http://127.0.0.1*", passthrough),
  http.get(URL_OF_VENDOR, ({ request }) => {
    expect(request.headers.get("authorization")).toBe(`Basic ${btoa("api:key-1")}`);
    const address = new URL(request.url).searchParams.get("address")!;
    asked.push(address);
    if (busy-- > 0) return new HttpResponse(null, { status: 429 });
    if (status !== 200) return HttpResponse.json({ message: "Invalid private key" }, { status });
    return HttpResponse.json({ address, ...ANSWERS[address.split("@")[0]!] });
  }),
);

beforeAll(async () => {
  server.listen({ onUnhandledFrame: "error" });
  dns = await dnsServer({ "good.example": { mx: ["mx.good.example"] }, "empty.example": {} });
  service = await startService({
    dnsServers: [dns.address],
    validation: { url: URL_OF_VENDOR, key: "key-1" },
  });
});
afterAll(async () => {
  server.close();
  await service?.stop();
  await dns?.stop();
});
beforeEach(() => {
  asked = [];
  busy = 0;
  status = 200;
});

interface Found {
  email: string;
  result: string;
  risk: string;
  reasons: string[];
  checks: Record<string, boolean | null>;
  did_you_mean: string | null;
}

async function validate(emails: string[]) {
  const { body } = await service.post("/api/validation_jobs", {
    type: "email_validation",
    level: "full",
    emails,
  });
  await service.idle();
  const job = (await service.get(`/api/validation_jobs/${body.id}`)).body;
  const results = (await service.get(`/api/validation_jobs/${body.id}/results`)).body;
  return { job, results };
}

test("at the level full the provider's word decides what the DNS leaves open", async () => {
  const names = Object.keys(ANSWERS);
  const emails = [...names.map((name) => `${name}@good.example`), "a@empty.example", "no address"];
  const { job, results } = await validate(emails);
  expect(job).toMatchObject({ status: "completed", total: emails.length, succeeded: emails.length });
  expect(asked.toSorted()).toEqual(names.map((name) => `${name}@good.example`).toSorted());
  const found = Object.fromEntries(
    results.map(({ email, result, risk, reasons, checks, did_you_mean }: Found) => [
      email.split("@")[0],
      [result, risk, reasons.join(), checks.catch_all, checks.smtp_deliverable, did_you_mean],
    ]),
  );
  expect(found).toEqual({
    good: ["deliverable", "low", "", false, true, null],
    shaky: ["risky", "high", "", false, true, null],
    gone: ["undeliverable", "high", "mailbox_not_found", false, false, null],
    full: ["risky", "medium", "mailbox_full", false, false, null],
    any: ["risky", "medium", "catch_all", true, null, null],
    trap: ["risky", "high", "", false, null, null],
    slow: ["unknown", "low", "smtp_timeout", null, null, null],
    typo: ["undeliverable", "high", "mailbox_not_found", false, false, "type@good.example"],
    odd: ["unknown", "low", "smtp_timeout", null, null, null],
    a: ["undeliverable", "high", "no_mx", null, null, null],
    "no address": ["undeliverable", "high", "invalid_syntax", null, null, null],
  });
});

test("a provider that is busy is asked again later; one that refuses the key fails the job, and says so", async () => {
  busy = 1;
  const { body } = await service.post("/api/validation_jobs", {
    level: "full",
    emails: ["good@good.example"],
  });
  await expect.poll(() => asked.length).toBe(1);
  const hasten = () =>
    service.internals.db.asSystem(
      (sql) => sql`
        update queue set run_at = now()
        where name = 'validate_emails' and state = 'ready' and input ->> 'jobId' = ${body.id} returning id`,
    );
  await expect.poll(async () => (await hasten()).length).toBe(1);
  service.internals.wake();
  await service.idle();
  expect((await service.get(`/api/validation_jobs/${body.id}`)).body.status).toBe("completed");
  status = 401;
  const { job } = await validate(["good@good.example"]);
  expect(job).toMatchObject({
    status: "failed",
    error: "The validation provider refused the key (401).",
  });
});
