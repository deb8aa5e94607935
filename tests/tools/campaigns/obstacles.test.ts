import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type House, startHouse } from "../../support/house.ts";
import { type Casino, casino } from "./casino.ts";

let house: House;
let place: Casino & { id: string };
let segment: string;

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());
beforeEach(async () => {
  const { id } = await house.newTenant();
  place = { ...casino(house, id), id };
  const everyone = { name: "Everyone", conditions: [{ field: "status", operator: "eq", value: "active" }] };
  segment = (await place.call("create_segment", everyone)).id;
});

interface Problem {
  stops_sending: boolean;
  field: string;
  message: string;
}

const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const schedule = (id: string) =>
  place.call("schedule_campaign", { campaign_id: id, scheduled_at: TOMORROW, segment_id: segment });

async function fire(id: string): Promise<void> {
  await place.query(
    (sql) => sql`
      update campaigns set scheduled_at = now() - interval '1 second' where property_id = ${place.id} and id = ${id}`,
  );
  await house.service.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${place.id}`,
  );
  await place.work();
}

const link = (href: string) => `<p>Double points: <a href="${href}">play</a></p>`;
const MISSING = "{{ player.custom.nickname }}";

/** A campaign's fields, and what happens to it once it is scheduled. */
const OBSTACLES: [string, string, Record<string, unknown>, (() => Promise<unknown>)?][] = [
  ["a link that is not https", "body_html", { body_html: link("http://casino.example") }],
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
    () => place.call("update_player", { id: ana, custom: { site: "http://ana.example" } }),
  ],
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
      place.call("update_property", {
        propertyId: place.id,
        privacy_policy_url: "http://casino.example/privacy",
      }),
  ],
  [
    "such a link in its template",
    "html",
    { body_html: null },
    async () => {
      const { id } = await place.call("create_template", { name: "t", html: link("http://casino.example") });
      await place.query(
        (sql) => sql`update campaigns set template_id = ${id} where property_id = ${place.id}`,
      );
    },
  ],
  ["a variable that none of the first players has", "html", { body_html: `<p>Dear ${MISSING}</p>` }],
  ["no subject", "subject", { subject: null }],
  [
    "a property without an address",
    "postal_address",
    {},
    () => place.call("update_property", { propertyId: place.id, postal_address: null }),
  ],
  [
    "a segment that is gone",
    "segment_id",
    {},
    () => place.query((sql) => sql`update segments set deleted_at = now() where property_id = ${place.id}`),
  ],
  [
    "a provider that does not allow gaming",
    "provider_id",
    {},
    () =>
      place.call("create_message_provider", {
        channel: "email",
        kind: "resend",
        name: "Resend",
        from_address: "offers@casino.example",
        credentials: { api_key: "re" },
      }),
  ],
];

let ana: string;

describe("what the preflight calls an error stops who sends, warns who schedules, and fails the campaign when it fires", () => {
  test.each(OBSTACLES)("%s", async (_, field, fields, breaks) => {
    ana = await place.player({ player_id: "ana", email: "ana@example.com" });
    await place.call("create_custom_field", { key: "site", label: "Site", type: "text" });
    await place.call("create_custom_field", { key: "nickname", label: "Nickname", type: "text" });
    const id = await place.campaign(fields);
    await schedule(id);
    await breaks?.();
    const { ok, errors } = await place.preflight(id);
    expect(ok).toBe(false);
    expect(errors).toHaveLength(1);
    const [{ stops_sending, ...problem }] = errors as [Problem];
    expect([problem.field, stops_sending]).toEqual([field, true]);
    const words = `${problem.field}: ${problem.message}`;
    await expect(place.send(id)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining(words),
      details: [problem],
    });
    if (field !== "segment_id") expect((await schedule(id)).warnings).toEqual([words]);
    await fire(id);
    expect(await place.get(id)).toMatchObject({ status: "failed", status_reason: words });
    expect(await place.sends(id)).toEqual([]);
  });
});

test("what sending copes with is an error that does not stop it: an empty audience, and a player whose message cannot be rendered", async () => {
  const empty = await place.campaign();
  expect(await place.preflight(empty)).toMatchObject({
    ok: false,
    audience: 0,
    errors: [{ field: "audience", message: "is empty: nobody would get it", stops_sending: false }],
  });
  await place.send(empty);
  await place.work();
  expect((await place.get(empty)).status).toBe("sent");
  await place.player({ player_id: "ana", first_name: "Ana", email: "ana@example.com" });
  await place.player({ player_id: "nameless", email: "nameless@example.com" });
  const id = await place.campaign({ subject: "Hello {{ first_name }}" });
  expect(await place.preflight(id)).toMatchObject({
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
  await place.send(id);
  await place.work();
  expect((await place.sends(id)).map(({ player, status }) => [player, status])).toEqual([
    ["ana", "sent"],
    ["nameless", "failed"],
  ]);
});
