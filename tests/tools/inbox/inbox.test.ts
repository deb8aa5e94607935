import { afterAll, beforeAll, expect, test } from "vitest";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
const players: Record<string, string> = {};

beforeAll(async () => {
  service = await startService();
  for (const [name, more] of Object.entries({
    guest: {},
    gone: {},
    told: { phone: "+17025550181" },
    excluded: {},
    young: { birth_date: "2020-01-01" },
    everywhere: { email: "everywhere@example.com" },
  })) {
    const { body } = await service.post("/api/players", {
      player_id: name,
      first_name: name,
      tier: "In",
      ...more,
    });
    players[name] = body.id;
  }
  await service.request("DELETE", `/api/players/${players.gone}`);
  await service.post("/api/dnc_entries", { phone: "+17025550181" });
  await service.post("/api/suppressions", { channel: "all", address: "everywhere@example.com" });
  await service.call("create_self_exclusion", { player_id: players.excluded }, service.tenant.id);
});
afterAll(() => service?.stop());

const make = async (input: object = {}) => {
  const { body } = await service.post("/api/campaigns", {
    name: "In the house",
    channel: "loyaltyvip",
    subject: "Welcome, {{ first_name }}",
    body_html: "<p>Your gift <b>waits</b> at the desk.</p>",
    conditions: [{ field: "tier", operator: "eq", value: "In" }],
    ...input,
  });
  return body.id as string;
};

const send = (campaignId: string, operation = "send-campaign") =>
  service.post(`/api/functions/${operation}`, { campaignId, propertyId: service.tenant.id });

const inbox = async () => (await service.get("/api/inbox_messages")).body;

test("a loyaltyvip campaign lies in the inbox of everyone whom no list bars, and needs no consent", async () => {
  const id = await make();
  expect((await send(id)).status).toBe(200);
  await service.idle();
  expect(await inbox()).toMatchObject([
    {
      player_id: players.guest,
      campaign_id: id,
      title: "Welcome, guest",
      body: expect.stringContaining("Your gift waits at the desk."),
    },
  ]);
  const { body: sends } = await service.get(`/api/campaign_sends?campaign_id.eq=${id}&status.eq=skipped`);
  const reasons = sends.flatMap((one: { skip_reasons: string[] }) => one.skip_reasons).sort();
  expect(reasons).toEqual(["dnc", "self_excluded", "suppressed", "underage"]);
  const { body: campaign } = await service.get(`/api/campaigns/${id}`);
  expect(campaign.status).toBe("sent");
});

test("a template that fails for one player's name keeps nobody's message back", async () => {
  for (const first_name of ["😀na", "Bo"]) await service.post("/api/players", { first_name, tier: "Cut" });
  const id = await make({
    conditions: [{ field: "tier", operator: "eq", value: "Cut" }],
    subject: "For {{ first_name | split: '' | first }}",
    body_html: `<p>{{ first_name | split: '' | first }}{{ '%00' | url_decode }}!</p>`,
  });
  await send(id);
  await service.idle();
  const got = (await inbox()).filter(({ campaign_id }: { campaign_id: string }) => campaign_id === id);
  expect(got.map(({ title, body }: Record<string, string>) => `${title}: ${body}`).sort()).toEqual([
    expect.stringMatching(/^For B: B!/),
    expect.stringMatching(/^For \uFFFD: \uFFFD!/),
  ]);
});

test("one that is scheduled gets there when it is due", async () => {
  const { body: segment } = await service.post("/api/segments", {
    name: "Guests",
    conditions: [{ field: "player_id", operator: "eq", value: "guest" }],
  });
  const id = await make({ subject: "Later", channel: "inbox" });
  const { status } = await service.post("/api/functions/schedule-campaign", {
    campaign_id: id,
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
    segment_id: segment.id,
  });
  expect(status).toBe(200);
  expect(await inbox()).not.toContainEqual(expect.objectContaining({ title: "Later" }));
  await scenarioIn(service).comeDue(id);
  await expect
    .poll(async () => (await inbox()).map(({ title }: { title: string }) => title))
    .toContain("Later");
});

test("it is no text message, and wants a title", async () => {
  const refused = await send(await make(), "send-sms-campaign");
  expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("send_campaign")]);
  const untitled = await send(await make({ subject: null }));
  expect([untitled.status, untitled.body.details[0].field]).toEqual([400, "subject"]);
});
