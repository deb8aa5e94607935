import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readUnsubscribeToken } from "#tools/player-links/links.ts";
import { newScenario, type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let standing: Scenario;

beforeAll(async () => {
  service = await startService();
  const tenant = await service.newTenant({ timezone: "America/New_York" });
  service.tenant = tenant;
  standing = scenarioIn(service, tenant.id);
});
afterAll(() => service?.stop());

describe("a campaign to everyone", () => {
  test("reaches each player who may be sent to once, and none of the blocked", async () => {
    const may = ["ana", "bo", "cy"];
    for (const name of may)
      await standing.player({ player_id: name, first_name: name, email: `${name}@example.com` });
    const blocked: Record<string, string> = {};
    const block = async (name: string, reason: string, fields: object = {}, consent = true) => {
      blocked[name] = reason;
      return standing.player({ player_id: name, email: `${name}@example.com`, ...fields }, consent);
    };
    await block("no-consent", "no_consent", {}, false);
    await block("minor", "underage", { birth_date: "2015-05-05" });
    await block("held", "vip_hold", { status: "vip_hold" });
    await block("suppressed", "suppressed");
    await standing.call("create_suppression", {
      channel: "email",
      address: "suppressed@example.com",
      reason: "manual",
    });
    const stopped = await block("stopped", "suppressed");
    await standing.call("consent_revoke", { propertyId: service.tenant.id, playerId: stopped });
    const excluded = await block("excluded", "self_excluded");
    await standing.call("create_self_exclusion", { player_id: excluded });
    const bounced = await block("bounced", "invalid_address");
    await standing.query(
      (sql) => sql`update players set email_status = 'undeliverable' where id = ${bounced}`,
    );
    const banned = await block("banned", "banned");
    await standing.query((sql) => sql`update players set status = 'banned' where id = ${banned}`);
    const gone = await standing.player({ player_id: "gone", email: "gone@example.com" });
    await standing.call("delete_player", { id: gone });
    await standing.player({ player_id: "zz-twin", email: "Ana@Example.com" });
    blocked["zz-twin"] = "duplicate_address";

    const id = await standing.campaign();
    const preflight = await standing.preflight(id);
    const { campaign } = await standing.send(id);
    expect(campaign.status).toBe("queued");
    await service.idle();

    const sends = await standing.sends(id);
    expect(sends.filter(({ status }) => status === "sent").map(({ player }) => player)).toEqual(may);
    const skipped = sends.filter(({ status }) => status === "skipped");
    expect(
      Object.fromEntries(
        skipped.map((send) => [send.player, send.skip_reasons.includes(blocked[send.player]!)]),
      ),
    ).toEqual(Object.fromEntries(Object.keys(blocked).map((name) => [name, true])));
    const mailbox = await standing.mailbox();
    expect(mailbox.map(({ recipient }) => recipient)).toEqual(may.map((name) => `${name}@example.com`));
    expect(mailbox[0]).toMatchObject({ subject: "Hello ana" });

    const stats = await standing.stats(id);
    expect(stats).toMatchObject({ status: "sent", audience: 12, sent: 3, pending: 0, unknown: 0 });
    expect(total(stats)).toBe(stats.audience);
    expect(stats.skipped).toMatchObject({ duplicate_address: 1, underage: 1, self_excluded: 1 });
    expect(preflight).toMatchObject({ audience: 12, allowed: 3, estimated_cost: { units: 3 } });
    expect(preflight.blocked).toEqual(stats.skipped);
  });

  test("carries the legal footer and a link that unsubscribes in one click", async () => {
    const scenario = await newScenario(service);
    const player = await scenario.player({ player_id: "ana", email: "ana@example.com" });
    const id = await scenario.campaign();
    await scenario.send(id);
    await service.idle();
    const [message] = await scenario.mailbox();
    expect(message!.html).toContain("1 Main Street, Reno, NV 89501");
    expect(message!.headers["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
    const link = /<(.+)>/.exec(message!.headers["List-Unsubscribe"]!)![1]!;
    expect(message!.html).toContain(link);
    const token = link.slice(link.lastIndexOf("/") + 1);
    expect(token.length).toBeLessThan(120);
    expect(readUnsubscribeToken(service.internals.config, token)).toEqual({
      propertyId: scenario.id,
      sendId: message!.id,
    });
    expect(readUnsubscribeToken(service.internals.config, `x${token}`)).toBeNull();

    await scenario.call("unsubscribe", { sendId: message!.id });
    await scenario.call("unsubscribe", { sendId: message!.id });
    const { reasons } = await scenario.call("compliance_check", {
      propertyId: scenario.id,
      channel: "email",
      playerId: player,
    });
    expect(reasons).toEqual(["no_consent", "suppressed"]);
    expect(await scenario.stats(id)).toMatchObject({ sent: 1, unsubscribed: 1 });
  });

  test("with nobody to send to is sent with totals of 0", async () => {
    const scenario = await newScenario(service);
    const id = await scenario.campaign();
    await scenario.send(id);
    await service.idle();
    expect(await scenario.stats(id)).toMatchObject({ status: "sent", audience: 0, sent: 0, skipped: {} });
  });
});

describe("the audience", () => {
  test("is the segment less the segments that the campaign excludes", async () => {
    const scenario = await newScenario(service);
    await scenario.player({ player_id: "gold", email: "gold@example.com", tier: "Gold", state: "NV" });
    await scenario.player({ player_id: "gold-nj", email: "gold-nj@example.com", tier: "Gold", state: "NJ" });
    await scenario.player({ player_id: "silver", email: "silver@example.com", tier: "Silver", state: "NV" });
    const rule = (field: string, value: string) => ({ conditions: [{ field, operator: "eq", value }] });
    const gold = await scenario.call("create_segment", { name: "Gold", ...rule("tier", "Gold") });
    const jersey = await scenario.call("create_segment", { name: "Jersey", ...rule("state", "NJ") });
    const id = await scenario.campaign({
      audience: null,
      segment_id: gold.id,
      exclude_segment_ids: [jersey.id],
    });
    await scenario.send(id);
    const rules = await scenario.campaign({ audience: null, ...rule("tier", "Silver") });
    await scenario.send(rules);
    await service.idle();
    expect((await scenario.sends(id)).map(({ player }) => player)).toEqual(["gold"]);
    expect((await scenario.sends(rules)).map(({ player }) => player)).toEqual(["silver"]);
  });

  test("of one property holds no player of another", async () => {
    const [one, other] = [await newScenario(service), await newScenario(service)];
    await one.player({ player_id: "one", email: "same@example.com" });
    await other.player({ player_id: "other", email: "same@example.com" });
    const id = await one.campaign();
    await one.send(id);
    await service.idle();
    expect((await one.sends(id)).map(({ player }) => player)).toEqual(["one"]);
    expect(await other.mailbox()).toEqual([]);
    await expect(other.send(id)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("sending is refused", () => {
  const refusals: [string, Record<string, unknown>, string][] = [
    ["without an audience", { audience: null }, "segment_id"],
    ["without content", { body_html: null }, "body_html"],
    ["without a subject", { subject: null }, "subject"],
    ["for another channel", { channel: "sms" }, "channel"],
    ["for a variable that no player has", { body_html: "{{ player.shoe_size }}" }, "body_html"],
  ];
  test.each(refusals)("%s", async (_, fields, field) => {
    const id = await standing.campaign(fields);
    const refused = standing.send(id);
    await expect(refused).rejects.toMatchObject({
      code: "invalid",
      details: [expect.objectContaining({ field })],
    });
    expect((await standing.get(id)).status).toBe("draft");
  });

  test("while the property has no postal address", async () => {
    const scenario = await newScenario(service, { postal_address: null });
    const id = await scenario.campaign();
    await expect(scenario.send(id)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("postal_address"),
    });
  });
});

test("a dry run answers the preflight and changes nothing", async () => {
  const scenario = await newScenario(service);
  await scenario.player({ player_id: "ana", first_name: "Ana", email: "ana@example.com" });
  await scenario.player({ player_id: "bo", email: "bo@example.com" }, false);
  const id = await scenario.campaign();
  const { preflight } = await scenario.call("send_campaign", {
    campaignId: id,
    propertyId: scenario.id,
    dry_run: true,
  });
  expect(preflight).toMatchObject({
    ok: true,
    errors: [],
    audience: 2,
    allowed: 1,
    blocked: { no_consent: 1 },
  });
  expect(preflight.sample_renders).toHaveLength(1);
  expect(preflight.sample_renders[0]).toMatchObject({ subject: "Hello Ana", to: "a***@e***.com" });
  expect((await scenario.get(id)).status).toBe("draft");
  expect(await scenario.sends(id)).toEqual([]);
});

test("the preflight names everything that stands in the way", async () => {
  const scenario = await newScenario(service, { postal_address: null });
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const id = await scenario.campaign({ body_html: null, audience: null });
  const { ok, errors } = await scenario.preflight(id);
  expect(ok).toBe(false);
  expect(errors.map(({ field }: { field: string }) => field).sort()).toEqual([
    "body_html",
    "postal_address",
    "segment_id",
  ]);
});

test("the preflight shows a variable that one of the first players lacks", async () => {
  const scenario = await newScenario(service);
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const id = await scenario.campaign({ body_html: "Dear {{ player.custom.nickname }}" });
  expect(await scenario.preflight(id)).toMatchObject({
    ok: false,
    errors: [{ field: "html", message: expect.stringContaining("player ana") }],
  });
});

test("a message that cannot be rendered for one player fails alone", async () => {
  const scenario = await newScenario(service);
  await scenario.player({ player_id: "ana", first_name: "Ana", email: "ana@example.com" });
  await scenario.player({ player_id: "nameless", email: "nameless@example.com" });
  const id = await scenario.campaign({ subject: "Hello {{ first_name }}" });
  await scenario.send(id);
  await service.idle();
  expect(
    (await scenario.sends(id)).map(({ player, status, error_code }) => [player, status, error_code]),
  ).toEqual([
    ["ana", "sent", null],
    ["nameless", "failed", "template_error"],
  ]);
  expect(await scenario.stats(id)).toMatchObject({ status: "sent", failed: 1 });
});

function total(stats: Record<string, number> & { skipped: Record<string, number> }): number {
  const parts = ["pending", "sent", "delivered", "bounced", "failed", "unknown", "cancelled"];
  const skipped = Object.values(stats.skipped).reduce((sum, count) => sum + count, 0);
  return parts.reduce((sum, part) => sum + stats[part]!, skipped);
}
