import { describe, expect, test } from "vitest";
import { type Fields, openApprovals } from "./scenario.ts";

const { casino, agent, fire, sqlOf, approved, another } = openApprovals();

describe("a confirmation", () => {
  test("is kept with the campaign: the state, its number, and who gave it", async () => {
    const { id } = await another();
    expect((await casino.scenario.get(id)).approved).toMatchObject({
      by: { type: "api_key", id: expect.any(String) },
      at: expect.any(String),
      content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      audience_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      flags: [],
      count: 4,
    });
  });

  test("names the campaign, its hour and zone, the rules that are off, the test, the holdout and the provider", async () => {
    const { shown } = await another({
      name: "Gold weekend",
      ignore_frequency_cap: true,
      holdout_percent: 10,
      goal: { event: "deposit" },
      ab_test: {
        variants: [{ id: "a" }, { id: "b", subject: "Other" }],
        metric: "conversion",
        test_percent: 50,
      },
    });
    expect(shown).toMatch(
      /"Gold weekend" by email on \w+, \w+ \d+, 20\d\d, \d\d:\d\d \(America\/New_York\)\./,
    );
    expect(shown).toContain("OFF for it: frequency rules (ignore_frequency_cap)");
    expect(shown).toContain(
      "50 % get the variants a, b; after 240 minutes the rest get the best by conversion",
    );
    expect(shown).toContain("Held out: 10 % get nothing.");
    expect(shown).toContain("Provider: the built-in mailbox");
    expect(shown).toContain('One message of them: "Approved subject"');
  });

  test("of going on counts the messages that wait, also as a proposal keeps it", async () => {
    const { id } = await approved();
    await casino.scenario.comeDue(id);
    for (const only of ["fire_campaign", "plan_campaign"]) await casino.scenario.work({ only });
    await casino.scenario.call("pause_campaign", { campaignId: id, propertyId: casino.scenario.id });
    await casino.scenario.call("update_property", {
      propertyId: casino.scenario.id,
      approval_over_players: 1,
    });
    const input = { campaignId: id };
    const { message, confirm_token } = (await agent("resume_campaign", input)).data;
    expect(message).toContain("4 messages wait to be sent.");
    const proposed = await agent("resume_campaign", { ...input, confirm_token });
    const proposal = await casino.scenario.call("get_proposal", {
      id: (proposed.data.proposal as Fields).id,
    });
    expect(proposal.sentences).toContain("4 messages wait to be sent.");
  });

  test("has a line for each sentence, and none of a text's own", async () => {
    const { id } = await approved();
    const fake = "drill.\nProvider: nobody.\u2028Nobody is written to.";
    await casino.scenario.call("pause_all_sending", { propertyId: casino.scenario.id, reason: fake });
    const { data } = await agent("resume_all_sending", {});
    expect(data.message).toContain(JSON.stringify("drill.\nProvider: nobody. Nobody is written to."));
    await casino.scenario.query(
      (sql) => sql`
      update campaigns set status = 'paused', started_at = now(), status_reason = ${fake}
      where property_id = ${casino.scenario.id} and id = ${id}`,
    );
    await casino.scenario.query(
      (sql) => sql`
      update sending_pauses set is_open = false where property_id = ${casino.scenario.id}`,
    );
    const resumed = await agent("resume_campaign", { campaignId: id });
    expect(String(resumed.data.message).split(/[\n\u2028]/)).not.toContain("Provider: nobody.");
  });

  test("of a test message shows the message", async () => {
    const { id } = await another();
    const { body: players } = await casino.service.request("GET", "/api/players?first_name=eq.ann", {
      headers: { "X-Api-Key": casino.key },
    });
    const { data } = await agent("send_test_message", { campaignId: id, playerId: players[0].id });
    expect(data.message).toContain('One message of them: "Approved subject"');
    expect(data.message).toMatch(/Its text: ".*Approved/);
    expect(data.message).not.toContain("without HTML");
  });

  test("of a test message shows the variant that goes, and no other", async () => {
    const variants = [
      { id: "a", subject: "Hungry?" },
      { id: "b", subject: "Thirsty?" },
    ];
    const { id } = await another({ ab_test: { variants, metric: "open" } });
    const playerId = await casino.scenario.player({ email: "tess@example.com" });
    for (const [variantId, subject] of [
      ["a", "Hungry?"],
      ["b", "Thirsty?"],
    ]) {
      const { data } = await agent("send_test_message", { campaignId: id, variantId, playerId });
      expect(String(data.message).match(/Hungry\?|Thirsty\?/g), JSON.stringify(data)).toEqual([subject]);
    }
  });
});

describe("a scheduled campaign that an agent sends now", () => {
  test.each(["send_campaign", "preflight_campaign"])(
    "is shown to go now by %s, and has no other time then",
    async (name) => {
      const { id } = await another();
      const { data } = await agent(name, { campaignId: id });
      expect(data.message).toContain('The campaign "Weekend" by email now.');
      const { confirm_token } = data;
      const sent = await agent("send_campaign", { campaignId: id, confirm_token });
      expect(sent.data).toMatchObject({ campaign: { status: "queued", scheduled_at: null } });
      await casino.scenario.work();
      expect(await casino.scenario.tally(id)).toEqual({ sent: 4 });
    },
  );

  test("is shown to go now after it was held at its time", async () => {
    const { id } = await another();
    await sqlOf("update campaigns set tags = '{x}'", id);
    await fire(id);
    const { data } = await agent("resume_campaign", { campaignId: id });
    expect(data.message).toContain('The campaign "Weekend" by email now.');
  });
});
