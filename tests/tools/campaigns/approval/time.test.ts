import { describe, expect, test } from "vitest";
import { DEFAULT_THEME } from "#tools/themes/theme.ts";
import { OTHER_PROVIDER } from "./changes.ts";
import { type Approved, openApprovals } from "./scenario.ts";

const { casino, agent, fire, sqlOf, approved, another } = openApprovals();

describe("an approved campaign goes out", () => {
  test("as it was approved", async () => {
    const { id } = await approved();
    await fire(id);
    expect(await casino.scenario.tally(id)).toEqual({ sent: 4 });
  });

  test("with an audience that has grown by no more than the property allows", async () => {
    const { id } = await approved();
    await casino.scenario.player({ email: "new@example.com", tier: "Gold" });
    await fire(id);
    expect(await casino.scenario.tally(id)).toEqual({ sent: 5 });
  });

  test("with each player whom a person has let an agent add, beside the growth", async () => {
    const { id, vips } = await approved();
    const fay = await casino.scenario.player({ email: "fay@example.com", tier: "Gold" });
    const member = { segment_id: vips, player_id: fay };
    const { id: listed } = await casino.scenario.call("create_segment_member", member);
    const gus = await casino.scenario.player({ email: "gus@example.com", tier: "Silver" });
    for (const [name, input] of [
      ["delete_segment_member", { id: listed }],
      ["update_player", { id: gus, tier: "Gold" }],
    ] as const) {
      const { confirm_token } = (await agent(name, input)).data;
      expect((await agent(name, { ...input, confirm_token })).isError, name).toBe(false);
    }
    expect((await casino.scenario.get(id)).approved.count).toBe(6);
    await casino.scenario.player({ email: "new@example.com", tier: "Gold" });
    await fire(id);
    expect(await casino.scenario.tally(id)).toEqual({ sent: 7 });
  });

  test("with the changes that a program has made over REST since, which approves them", async () => {
    const { id, template, gold } = await approved();
    await casino.scenario.call("update_template", { id: template, subject: "By a program" });
    await casino.scenario.call("update_campaign", { id, preheader: "By a program" });
    await casino.scenario.call("update_segment", {
      id: gold,
      conditions: [{ field: "tier", operator: "in", value: ["Gold", "Silver"] }],
    });
    expect((await casino.scenario.get(id)).approved).toMatchObject({ by: { type: "system" }, count: null });
    await fire(id);
    expect(await casino.scenario.tally(id)).toEqual({ sent: 5 });
  });
});

describe("a difference from the approval when the time comes", () => {
  test.each([
    ["content", (made: Approved) => sqlOf("update templates set subject = 'Evil'", made.template)],
    ["audience", (made: Approved) => sqlOf("update segments set exclude_segment_ids = '{}'", made.gold)],
    [
      "provider",
      async () => {
        const { id } = await casino.scenario.call("create_message_provider", OTHER_PROVIDER);
        // Its creation has approved it.
        await sqlOf("update message_providers set from_address = 'evil@example.com'", id);
      },
    ],
    ["flag", (made: Approved) => sqlOf("update campaigns set is_transactional = true", made.id)],
  ])("pauses the campaign, by each way to change its %s", async (_, change) => {
    const made = await another();
    const endpoint = await casino.scenario.call("create_webhook_endpoint", {
      url: "https://example.com/hook",
      events: ["campaign.paused"],
    });
    await change(made);
    await fire(made.id);
    expect(await casino.scenario.get(made.id)).toMatchObject({
      status: "paused",
      status_reason: expect.stringMatching(/^changed since it was approved: /),
      started_at: null,
    });
    expect(await casino.scenario.sends(made.id)).toEqual([]);
    const told = await casino.scenario.query(
      (sql) => sql<{ type: string }[]>`
        select type from outbox where property_id = ${casino.scenario.id} and data -> 'object' ->> 'id' = ${made.id}`,
    );
    expect(told).toMatchObject([{ type: "campaign.paused" }]);
    expect(endpoint.events).toEqual(["campaign.paused"]);
  });

  test("pauses it when the property's clock, by which the players' hour goes, is another one", async () => {
    const { id } = await approved({ send_in_player_timezone: true });
    await casino.scenario.call("update_property", {
      propertyId: casino.scenario.id,
      timezone: "America/Los_Angeles",
    });
    await fire(id);
    expect(await casino.scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: "changed since it was approved: the property's clock, by which its hour goes",
    });
  });

  test.each([
    ["from_email", "evil@example.com", "the property's default sender"],
    ["from_name", "Somebody else", "the property's default sender"],
    ["responsible_gaming_footer", "Play all night", "the property's names and footer"],
    ["legal_name", "Another casino", "the property's names and footer"],
    ["privacy_policy_url", "https://evil.example", "the property's names and footer"],
  ])("pauses it when the property has another %s", async (setting, value, said) => {
    const { id } = await another();
    await casino.scenario.call("update_property", { propertyId: casino.scenario.id, [setting]: value });
    await fire(id);
    expect(await casino.scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: `changed since it was approved: ${said}`,
    });
  });

  test("does not pause it for a sender that it does not use, nor for a setting that no message shows", async () => {
    const { id } = await another({ from_email: "club@example.com", from_name: "The club" });
    const settings = { from_email: "other@example.com", from_name: "Other", help_text: "Call us" };
    await casino.scenario.call("update_property", { propertyId: casino.scenario.id, ...settings });
    await fire(id);
    expect(await casino.scenario.tally(id)).toEqual({ sent: 4 });
  });

  test("does not pause it for another look that a program has given the property, which approves that", async () => {
    const { id } = await another();
    const { approved: before } = await casino.scenario.get(id);
    await casino.scenario.call("set_property_theme", { name: "Other casino" });
    expect((await casino.scenario.get(id)).approved.content_hash).not.toBe(before.content_hash);
    await fire(id);
    expect(await casino.scenario.tally(id)).toEqual({ sent: 4 });
  });

  test("pauses it when the look was changed behind the service's back", async () => {
    const made = await approved();
    await casino.scenario.query(
      (sql) => sql`insert into property_theme (property_id, name, light, dark)
        values (${casino.scenario.id}, 'Evil', ${DEFAULT_THEME.light as never}::jsonb, ${DEFAULT_THEME.dark as never}::jsonb) returning 1`,
    );
    await fire(made.id);
    expect((await casino.scenario.get(made.id)).status_reason).toBe(
      "changed since it was approved: the look of the property's mails",
    );
  });

  test("pauses it when the audience has grown further than the property allows, and says so", async () => {
    const { id } = await approved();
    await casino.scenario.player({ email: "new1@example.com", tier: "Gold" });
    await casino.scenario.player({ email: "new2@example.com", tier: "Gold" });
    await fire(id);
    expect(await casino.scenario.get(id)).toMatchObject({
      status: "paused",
      status_reason: "changed since it was approved: the audience, which has grown from 4 to 6 players",
    });
  });

  test("waits for somebody who resumes it, which approves what there is", async () => {
    const { id } = await approved();
    await casino.scenario.player({ email: "new1@example.com", tier: "Gold" });
    await casino.scenario.player({ email: "new2@example.com", tier: "Gold" });
    await fire(id);
    const shown = await agent("resume_campaign", { campaignId: id });
    expect(shown.data.message).toContain("It would reach 6 of 6 players.");
    const { confirm_token } = shown.data;
    await agent("resume_campaign", { campaignId: id, confirm_token });
    await casino.scenario.work();
    expect(await casino.scenario.tally(id)).toEqual({ sent: 6 });
  });
});

test("a campaign that an agent has sent at once is compared once more before its audience is planned", async () => {
  const { id, template } = await approved();
  const shown = await agent("send_campaign", { campaignId: id });
  await agent("send_campaign", { campaignId: id, confirm_token: shown.data.confirm_token });
  await sqlOf("update templates set html = '<p>Evil</p>'", template);
  await casino.scenario.work();
  expect(await casino.scenario.get(id)).toMatchObject({ status: "paused" });
  expect(await casino.scenario.sends(id)).toEqual([]);
});

test("a provider that fails, and another one that takes over, change nothing that was approved", async () => {
  const { id } = await approved();
  const first = await casino.scenario.call("create_message_provider", {
    ...OTHER_PROVIDER,
    is_default: true,
  });
  await casino.scenario.call("create_message_provider", { ...OTHER_PROVIDER, name: "Second" });
  await sqlOf("update message_providers set health = 'refused'", first.id);
  await fire(id);
  expect(await casino.scenario.tally(id)).toEqual({ sent: 4 });
});
