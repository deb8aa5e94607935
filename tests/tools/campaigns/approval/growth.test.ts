import { describe, expect, test } from "vitest";
import { openApprovals } from "./scenario.ts";

const { casino, agent, fire, approved } = openApprovals();

describe("the audience of a question that is confirmed", () => {
  const asked = async (joining: number) => {
    const made = await approved();
    const input = { campaignId: made.id };
    const { confirm_token } = (await agent("send_campaign", input)).data;
    for (let index = 0; index < joining; index += 1) {
      await casino.scenario.player({ email: `new${index}@example.com`, tier: "Gold" });
    }
    return { ...made, ...(await agent("send_campaign", { ...input, confirm_token })) };
  };

  test("may have grown by as much as the property allows, and the number that was shown is approved", async () => {
    const { id, data } = await asked(1);
    expect(data).toMatchObject({ success: true });
    expect((await casino.scenario.get(id)).approved.count).toBe(4);
    await casino.scenario.work();
    expect(await casino.scenario.tally(id)).toEqual({ sent: 5 });
  });

  test("is asked about again where it has grown further", async () => {
    const { data } = await asked(2);
    expect(data).toMatchObject({ confirmation_required: true });
    expect(data.message).toContain("It would reach 6 of 6 players.");
  });
});

describe("a check whose fingerprint is given", () => {
  const check = async () => {
    const made = await approved();
    await casino.scenario.call("unschedule_campaign", {
      campaignId: made.id,
      propertyId: casino.scenario.id,
    });
    const { fingerprint } = await casino.scenario.preflight(made.id);
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const input = { campaign_id: made.id, segment_id: made.gold, scheduled_at, fingerprint };
    return { ...made, fingerprint, schedule: () => casino.scenario.call("schedule_campaign", input) };
  };
  const join = (name: string) => casino.scenario.player({ email: `${name}@example.com`, tier: "Gold" });

  test("stands while the audience grows by no more than the property allows, and its number is approved", async () => {
    const { id, schedule } = await check();
    await join("new1");
    await schedule();
    expect((await casino.scenario.get(id)).approved.count).toBe(4);
    await join("new2");
    await fire(id);
    expect((await casino.scenario.get(id)).status_reason).toContain("grown from 4 to 6 players");
  });

  test("is refused for an audience that has grown further", async () => {
    const { id, schedule } = await check();
    await join("new1");
    await join("new2");
    await expect(schedule()).rejects.toThrow("an audience which has grown from 4 to 6 players since");
    expect(await casino.scenario.get(id)).toMatchObject({ status: "draft" });
  });

  test("is refused with another number than its own, which would raise the approved one", async () => {
    const { id, fingerprint } = await check();
    const [hash] = fingerprint.split("-");
    for (const number of ["1000000", "NaN", "4.5", "-4", ""]) {
      const input = { campaignId: id, fingerprint: `${hash}-${number}` };
      const { isError, data } = await agent("send_campaign", input);
      expect([isError, data.code], number).toEqual([true, "conflict"]);
    }
  });

  test("counts the players of now against the property's limit, and asks about them", async () => {
    const { id, fingerprint } = await check();
    await casino.scenario.call("update_property", {
      propertyId: casino.scenario.id,
      approval_over_players: 4,
    });
    await join("new1");
    const input = { campaignId: id, fingerprint };
    const shown = await agent("send_campaign", input);
    expect(shown.data.message).toContain("It reaches up to 5 players.");
  });

  test("that is older than a person's question approves no more than the question has shown", async () => {
    const { id, fingerprint } = await check();
    const players = (await casino.scenario.call("list_players", {})) as { id: string; tier: string }[];
    await casino.scenario.call("update_player", {
      id: players.find(({ tier }) => tier === "Gold")!.id,
      tier: "Silver",
    });
    const input = { campaignId: id, fingerprint };
    const { confirm_token } = (await agent("send_campaign", input)).data;
    await agent("send_campaign", { ...input, confirm_token });
    expect((await casino.scenario.get(id)).approved.count).toBe(3);
  });

  test("is refused for a campaign that would fail at its hour", async () => {
    const { id, schedule } = await check();
    await casino.scenario.call("update_campaign", { id, template_id: null });
    const { fingerprint } = await casino.scenario.preflight(id);
    await expect(schedule()).rejects.toThrow("has changed since");
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const input = { campaign_id: id, segment_id: null, scheduled_at };
    await expect(casino.scenario.call("schedule_campaign", { ...input, fingerprint })).rejects.toThrow(
      "subject",
    );
    expect((await casino.scenario.call("schedule_campaign", input)).warnings).toContainEqual(
      expect.stringContaining("subject"),
    );
  });
});
