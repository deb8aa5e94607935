import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../../../support/proof-size.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let segment: string;

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

async function newProperty(): Promise<void> {
  scenario = await newScenario(service);
  const everyone = { name: "Everyone", conditions: [{ field: "status", operator: "eq", value: "active" }] };
  segment = (await scenario.call("create_segment", everyone)).id;
}

interface Problem {
  stops_sending: boolean;
  field: string;
  message: string;
}

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const schedule = (id: string) =>
  scenario.call("schedule_campaign", { campaign_id: id, scheduled_at: TOMORROW, segment_id: segment });

async function fire(id: string): Promise<void> {
  await scenario.query(
    (sql) => sql`
      update campaigns set scheduled_at = now() - interval '1 second' where property_id = ${scenario.id} and id = ${id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
  await scenario.work();
}

const link = (href: string) => `<p>Double points: <a href="${href}">play</a></p>`;
const MISSING = "{{ player.custom.nickname }}";

/** A campaign's fields, and what happens to it once it is scheduled. */
const OBSTACLES: [string, string, Record<string, unknown>, (() => Promise<unknown>)?][] = [
  ["a link that is not https", "body_html", { body_html: link("http://casino.example") }],
  ["a link without a host", "body_html", { body_html: link("www.casino.example/offers") }],
  ["such a link in an inbox message", "body_html", { channel: "inbox", body_html: link("/offers") }],
  [
    "such a link for a few alone",
    "body_html",
    { body_html: `{% if player.tier == "Gold" %}${link("http://casino.example")}{% endif %}<p>Hello</p>` },
  ],
  ["such a link by a variable", "body_html", { body_html: link("http://{{ player.player_id }}.example") }],
  [
    "such a link from a player's own data",
    "body_html",
    { body_html: link("{{ player.custom.site }}") },
    () => scenario.call("update_player", { id: ana, custom: { site: "http://ana.example" } }),
  ],
  ["such a button", "body_html", { body_html: '<button formaction="http://casino.example">Play</button>' }],
  ["a page inside it", "body_html", { body_html: '<iframe src="https://casino.example"></iframe>' }],
  [
    "a part that opens another page",
    "body_html",
    { body_html: '<meta http-equiv="refresh" content="0;url=https://casino.example"><p>Hello</p>' },
  ],
  ["a picture that is not https", "body_html", { body_html: '<img src="http://casino.example/a.png">' }],
  ["such a link in plain text", "body_text", { body_text: "Play at http://casino.example" }],
  [
    "such a link in plain text beside HTML",
    "body_text",
    { body_html: link("https://casino.example"), body_text: "Play at http://casino.example" },
  ],
  [
    "such a link in an inbox message",
    "body_text",
    { channel: "inbox", body_html: null, body_text: "http://casino.example" },
  ],
  [
    "such a link in the footer",
    "body_html",
    {},
    () =>
      scenario.call("update_property", {
        propertyId: scenario.id,
        privacy_policy_url: "http://casino.example/privacy",
      }),
  ],
  [
    "such a link in its template",
    "html",
    { body_html: null },
    async () => {
      const { id } = await scenario.call("create_template", {
        name: "t",
        html: link("http://casino.example"),
      });
      await scenario.query(
        (sql) => sql`update campaigns set template_id = ${id} where property_id = ${scenario.id}`,
      );
    },
  ],
  ["a variable that none of the first players has", "html", { body_html: `<p>Dear ${MISSING}</p>` }],
  ["no subject", "subject", { subject: null }],
  [
    "a property without an address",
    "postal_address",
    {},
    () => scenario.call("update_property", { propertyId: scenario.id, postal_address: null }),
  ],
  [
    "a segment that is gone",
    "segment_id",
    {},
    () =>
      scenario.query((sql) => sql`update segments set deleted_at = now() where property_id = ${scenario.id}`),
  ],
  [
    "a provider that does not allow gaming",
    "provider_id",
    {},
    () =>
      scenario.call("create_message_provider", {
        channel: "email",
        kind: "resend",
        name: "Resend",
        from_address: "offers@casino.example",
        credentials: { api_key: "re" },
      }),
  ],
];

let ana: string;
/** A property that no obstacle has changed. */
let untouched: { scenario: Scenario; segment: string } | undefined;

async function inProperty(isChanged: boolean): Promise<void> {
  if (untouched && !isChanged) ({ scenario, segment } = untouched);
  else {
    await newProperty();
    ana = await scenario.player({ player_id: "ana", email: "ana@example.com" });
    await scenario.call("create_custom_field", { key: "site", label: "Site", type: "text" });
    await scenario.call("create_custom_field", { key: "nickname", label: "Nickname", type: "text" });
    if (!isChanged) untouched = { scenario, segment };
  }
}

/** Goes on to its hour: all, or the first of each field. */
const isFired = (title: string, field: string) =>
  isFull || title === OBSTACLES.find(([, one]) => one === field)![0];

describe("an error of the preflight stops a sending, warns at a scheduling, and fails the campaign when it fires", () => {
  test.each(OBSTACLES)("%s", async (title, field, fields, breaks) => {
    await inProperty(breaks !== undefined);
    const id = await scenario.campaign(fields);
    if (isFired(title, field)) await schedule(id);
    await breaks?.();
    const { ok, errors } = await scenario.preflight(id);
    expect(ok).toBe(false);
    expect(errors).toHaveLength(1);
    const [{ stops_sending, ...problem }] = errors as [Problem];
    expect([problem.field, stops_sending]).toEqual([field, true]);
    const words = `${problem.field}: ${problem.message}`;
    await expect(scenario.send(id)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(words),
      details: [problem],
    });
    if (!isFired(title, field)) return;
    if (field !== "segment_id") expect((await schedule(id)).warnings).toEqual([words]);
    await fire(id);
    expect(await scenario.get(id)).toMatchObject({ status: "failed", status_reason: words });
    expect(await scenario.sends(id)).toEqual([]);
  });
});

test("an error that sending copes with does not stop it: an empty audience, and a player whose message cannot be rendered", async () => {
  await newProperty();
  const empty = await scenario.campaign();
  expect(await scenario.preflight(empty)).toMatchObject({
    ok: false,
    audience: 0,
    errors: [{ field: "audience", message: "is empty: nobody would get it", stops_sending: false }],
  });
  await scenario.send(empty);
  await scenario.work();
  expect((await scenario.get(empty)).status).toBe("sent");
  await scenario.player({ player_id: "ana", first_name: "Ana", email: "ana@example.com" });
  await scenario.player({ player_id: "nameless", email: "nameless@example.com" });
  const id = await scenario.campaign({ subject: "Hello {{ first_name }}" });
  expect(await scenario.preflight(id)).toMatchObject({
    ok: false,
    allowed: 2,
    errors: [
      {
        field: "subject",
        message: expect.stringContaining("cannot be rendered for player nameless"),
        stops_sending: false,
      },
    ],
    sample_renders: [{ subject: "Hello Ana" }],
  });
  await scenario.send(id);
  await scenario.work();
  expect((await scenario.sends(id)).map(({ player, status }) => [player, status])).toEqual([
    ["ana", "sent"],
    ["nameless", "failed"],
  ]);
});

test.each(["on", "off"])(
  "a link that a later player's data makes costs that player's message, with tracking %s",
  async (tracking) => {
    await newProperty();
    await scenario.call("update_property", { propertyId: scenario.id, tracking });
    await scenario.call("create_custom_field", { key: "site", label: "Site", type: "text" });
    const sites = ["https://a.example", "https://b.example", "https://c.example"];
    for (const [at, site] of [...sites, "javascript:alert(1)", "http://plain.example"].entries()) {
      await scenario.player({ player_id: `p${at}`, email: `p${at}@example.com`, custom: { site } });
    }
    const id = await scenario.campaign({ body_html: link("{{ player.custom.site }}") });
    await scenario.send(id);
    await scenario.work();
    const sends = await scenario.sends(id);
    expect(sends.map(({ status }) => status)).toEqual(["sent", "sent", "sent", "failed", "failed"]);
    expect(sends[3]!.error_code).toBe("template_error");
  },
);
