import { describe, expect, test } from "vitest";
import { CHANGES } from "./changes.ts";
import { type Fields, openApprovals } from "./scenario.ts";

const { casino, agent, fire, approved } = openApprovals();

describe("an agent that tries everything", () => {
  test("gets nothing to anybody but what was approved, by any operation", async () => {
    const made = await approved();
    const before = await casino.scenario.get(made.id);
    const tried = new Set<string>();
    for (const [, change] of CHANGES) {
      const [name, input] = change(made);
      if (tried.has(name)) continue;
      tried.add(name);
      // Once without a token, and once with one that was given for something else.
      const { data } = await agent(name, input);
      const elsewhere = await agent("update_campaign", {
        id: made.id,
        tags: ["other"],
        confirm_token: data.confirm_token,
      });
      expect(elsewhere, name).toMatchObject({ isError: true, data: { code: "invalid" } });
    }
    expect(await casino.scenario.get(made.id)).toEqual(before);
    await fire(made.id);
    const mails = await casino.scenario.sends(made.id);
    expect(mails.map(({ status }) => status)).toEqual(["sent", "sent", "sent", "sent"]);
  });

  test("is asked about a list that a campaign was approved with, by each way to change it", async () => {
    const made = await approved();
    const eve = await casino.scenario.player({ email: "late@example.com", tier: "Gold" });
    const member = { segment_id: made.vips, player_id: eve };
    const words =
      /changes the list "VIPs", and with it who gets the campaign "Weekend"\. It was approved for 4 players/;
    const added = await agent("create_segment_member", member);
    expect(added.data).toMatchObject({ confirmation_required: true, message: expect.stringMatching(words) });
    const rows = [{ player_id: "X-1", email: "x1@example.com" }];
    const { player_id } = await casino.scenario.call("get_player", { id: eve });
    const over = await agent("create_import_job", { rows: [{ player_id, tier: "Silver" }] });
    expect(over.data.message).toContain(
      'The values may bring other players into what was approved and waits: "Weekend".',
    );
    const imported = await agent("create_import_job", { rows, segment_id: made.vips });
    expect(imported.data).toMatchObject({
      confirmation_required: true,
      message: expect.stringMatching(words),
    });
    expect(await casino.scenario.call("list_segment_members", {})).toEqual([]);
    const { id } = await casino.scenario.call("create_segment_member", member);
    const removed = await agent("delete_segment_member", { id });
    expect(removed.data).toMatchObject({
      confirmation_required: true,
      message: expect.stringMatching(words),
    });
  });

  test("is asked before it puts a player among those who get what was approved, by any data", async () => {
    await approved();
    const words = (name: string) =>
      new RegExp(
        `This adds the player ".+", "${name}" to those who get the campaign "Weekend", which is scheduled. It was approved without them, for 4 players`,
      );
    const fay = await casino.scenario.player({ email: "fay@example.com", first_name: "fay", tier: "Silver" });
    const risen = await agent("update_player", { id: fay, tier: "Gold" });
    expect(risen.data).toMatchObject({ confirmation_required: true });
    expect(risen.data.message).toMatch(words("fay"));
    expect((await casino.scenario.call("get_player", { id: fay })).tier).toBe("Silver");
    // A player without a consent gets nothing: the consent is what adds them.
    const gus = await agent("create_player", { first_name: "gus", email: "gus@example.com", tier: "Gold" });
    expect(gus.data).not.toHaveProperty("confirmation_required");
    const evidence = { consentSource: "desk", consentText: "I agree to offers", consentVersion: "1" };
    const consent = { playerId: gus.data.id, channel: "email", consentGiven: true, ...evidence };
    const agreed = await agent("consent_record", consent);
    expect(agreed.data.message).toMatch(words("gus"));
    const { confirm_token } = risen.data;
    const done = await agent("update_player", { id: fay, tier: "Gold", confirm_token });
    expect(done.data).toMatchObject({ tier: "Gold" });
    // Those who are among them stay, and those who leave get nothing.
    for (const change of [{ adt: 500 }, { tier: "Silver" }]) {
      const { data } = await agent("update_player", { id: fay, ...change });
      expect(data).not.toHaveProperty("confirmation_required");
    }
    // A program's data are growth.
    expect((await casino.scenario.call("update_player", { id: fay, tier: "Gold" })).tier).toBe("Gold");
  });

  test("is asked once about a new player without a number, and makes them by the confirmation", async () => {
    await approved();
    await casino.scenario.call("update_property", {
      propertyId: casino.scenario.id,
      email_consent_mode: "opt_out",
    });
    const input = { first_name: "gil", email: "gil@example.com", tier: "Gold" };
    const { data } = await agent("create_player", input);
    expect(data.message).toContain('This adds the new player, "gil" to those who get the campaign "Weekend"');
    const done = await agent("create_player", { ...input, confirm_token: data.confirm_token });
    expect(done.data).toMatchObject({ first_name: "gil" });
  });

  test("is asked about each campaign that a player joins, by any channel, and a merge asks too", async () => {
    await approved();
    for (const [tier, channel] of [
      ["Silver", "email"],
      ["Bronze", "inbox"],
    ]) {
      const id = await casino.scenario.campaign({
        name: `For ${tier}`,
        channel,
        audience: null,
        conditions: [{ field: "tier", operator: "in", value: [tier, "Platinum"] }],
      });
      const scheduled_at = new Date(Date.now() + 365 * 86_400_000).toISOString();
      await casino.scenario.call("schedule_campaign", { campaign_id: id, segment_id: null, scheduled_at });
    }
    const fay = await casino.scenario.player({ email: "fay@example.com", first_name: "fay", tier: "Silver" });
    const joined = async (fields: Fields) => {
      const { data } = await agent("update_player", { id: fay, ...fields });
      return [...String(data.message ?? "").matchAll(/get the campaign "([^"]+)"/g)].map(([, name]) => name);
    };
    expect(await joined({ adt: 5 })).toEqual([]);
    expect(await joined({ tier: "Bronze" })).toEqual(["For Bronze"]);
    expect((await joined({ tier: "Platinum" })).toSorted()).toEqual(["For Bronze"]);
    expect(await joined({ tier: "Gold" })).toEqual(["Weekend"]);
    const twin = await casino.scenario.call("create_player", { tier: "Gold", first_name: "fay" });
    const { data } = await agent("merge_players", { playerId: twin.id, duplicateId: fay });
    expect(data.message).toMatch(/adds the player ".+" to those who get the campaign "Weekend"/);
  });

  test("approves as many players as before by a merge that puts one record in the place of another", async () => {
    const { id } = await approved();
    const [ann] = await casino.scenario.call("list_players", { filters: { "first_name.eq": "ann" } });
    const consent = { playerId: ann.id, channel: "email", consentGiven: true };
    await casino.scenario.call("consent_record", { propertyId: casino.scenario.id, ...consent });
    const kept = await casino.scenario.call("create_player", { first_name: "ann", last_name: "Kept" });
    const merging = { playerId: kept.id, duplicateId: ann.id };
    const { data } = await agent("merge_players", merging);
    expect(data.message).toMatch(/adds the player ".+" to those who get the campaign "Weekend"/);
    const done = await agent("merge_players", { ...merging, confirm_token: data.confirm_token });
    expect(done.data).toMatchObject({ success: true });
    expect((await casino.scenario.get(id)).approved.count).toBe(4);
  });

  test("approves no player by a confirmation that does not name them: one who gets nothing is growth", async () => {
    const { id } = await approved();
    const held = await casino.scenario.call("create_player", {
      first_name: "hal",
      tier: "Silver",
      status: "vip_hold",
    });
    const change = { id: held.id, status: "active", tier: "Gold" };
    const { data } = await agent("update_player", change);
    expect(data.message).toContain("This lifts a bar");
    expect(data.message).not.toContain("Weekend");
    const done = await agent("update_player", { ...change, confirm_token: data.confirm_token });
    expect(done.data).toMatchObject({ tier: "Gold" });
    expect((await casino.scenario.get(id)).approved.count).toBe(4);
  });

  test("is not asked about a player, named by a number, who would get the message anyhow", async () => {
    const { id } = await approved();
    const player = await casino.scenario.player({ player_id: "N-1", email: "n1@example.com", tier: "Gold" });
    const event = { player_id: "N-1", name: "visit" };
    const { data } = await agent("create_player_event", event);
    expect(data).toMatchObject({ player_id: player, name: "visit" });
    expect((await casino.scenario.get(id)).approved.count).toBe(4);
  });

  test("is asked again where a list has other players since the question, and as many", async () => {
    const { id, gold, vips } = await approved();
    await casino.scenario.call("unschedule_campaign", { campaignId: id, propertyId: casino.scenario.id });
    const [one, other] = ["in", "out"].map((name) => ({ email: `${name}@example.com`, tier: "Gold" }));
    const member = { segment_id: vips, player_id: await casino.scenario.player(one!) };
    const { id: listed } = await casino.scenario.call("create_segment_member", member);
    const player_id = await casino.scenario.player(other!);
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const input = { campaign_id: id, segment_id: gold, scheduled_at };
    const { confirm_token } = (await agent("schedule_campaign", input)).data;
    await agent("delete_segment_member", { id: listed });
    await agent("create_segment_member", { segment_id: vips, player_id });
    const again = await agent("schedule_campaign", { ...input, confirm_token });
    expect(again.data).toMatchObject({ confirmation_required: true });
    expect(again.data.message).toContain("It has changed since that preview.");
  });

  test("is asked about a segment that stands behind the campaign's own", async () => {
    const made = await approved();
    const inner = await casino.scenario.call("create_segment", {
      name: "Inner",
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
    });
    await casino.scenario.call("update_segment", {
      id: made.gold,
      conditions: [{ field: `segment.${inner.id}`, operator: "in_segment" }],
    });
    const conditions = [{ field: "email", operator: "is_set" }];
    const asked = await agent("update_segment", { id: inner.id, conditions });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain('the rules of the segment "Inner"');
  });

  test("is asked about the flags of a campaign that is sending already", async () => {
    const made = await approved();
    const sending = await casino.scenario.planned(1, { name: "Under way" });
    expect((await casino.scenario.get(sending)).status).toBe("sending");
    const asked = await agent("update_campaign", { id: sending, tags: ["uncapped"] });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain("those who have not got it yet");
    expect((await agent("update_campaign", { id: made.id, priority: 5 })).data).toMatchObject({
      priority: 5,
    });
  });

  test("tests no other content than it was asked about", async () => {
    await approved();
    const { email } = await casino.service.signIn();
    await casino.service.call("grant_membership", {
      property_id: casino.scenario.id,
      user_id: (await casino.service.call("list_users", {})).users.find((one: Fields) => one.email === email)
        .id,
      role: "manager",
    });
    const campaignId = await casino.scenario.campaign();
    const input = { campaignId, to: email };
    const { confirm_token } = (await agent("send_test_message", input)).data;
    const sent = await agent("send_test_message", { ...input, confirm_token });
    expect(sent.data, JSON.stringify(sent.data)).toMatchObject({ success: true });
    expect((await agent("update_campaign", { id: campaignId, subject: "Evil" })).data).toMatchObject({
      subject: "Evil",
    });
    await casino.scenario.work();
    const test = await casino.scenario.call("get_campaign_send", { id: sent.data.send_id as string });
    expect(test).toMatchObject({ status: "failed", error_code: "content_changed" });
  });
});
