import { describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../../support/operation-calls.ts";
import { CHANGES } from "./changes.ts";
import { type Approved, type Fields, openApprovals } from "./scenario.ts";

const { casino, agent, managerOf, fire, approved, another } = openApprovals();

const isOfCampaign = ([, change]: (typeof CHANGES)[number]) =>
  change({ id: "", template: "", gold: "", vips: "", shown: "" })[0] === "update_campaign";
const OF_OTHERS = CHANGES.filter((one) => !isOfCampaign(one)).map((one) => [one[0], [one]] as const);
/** One after another, in one campaign. */
const ALL_OF_THE_CAMPAIGN = ["each field of the campaign", CHANGES.filter(isOfCampaign)] as const;

/** Asks and is asked, and changes nothing before the confirmation, which approves the new state. */
async function changes(made: Approved, [name, input]: [string, Fields], of: string): Promise<void> {
  const before = await casino.scenario.get(made.id);
  const asked = await agent(name, input);
  expect(asked.data, `${of}: ${JSON.stringify(asked.data)}`).toMatchObject({ confirmation_required: true });
  expect(asked.data, of).not.toHaveProperty("success");
  const isPlain = !["schedule_campaign", "send_campaign"].includes(name);
  if (isPlain) {
    expect(asked.data.message, of).toMatch(
      /This changes what (1 person|\d+ people) \(\d+ in the audience\) gets? on /,
    );
  }
  expect(await casino.scenario.get(made.id), of).toEqual(before);
  const done = await agent(name, { ...input, confirm_token: asked.data.confirm_token });
  expect(done.isError, `${of}: ${JSON.stringify(done.data)}`).toBe(false);
  expect(done.data, of).not.toHaveProperty("confirmation_required");
  const { approved: now } = await casino.scenario.get(made.id);
  expect(now, of).not.toEqual(before.approved);
}

describe("an agent that changes what was approved", () => {
  test.each([...OF_OTHERS, ALL_OF_THE_CAMPAIGN])(
    "is asked first, and approves the new state by the confirmation: %s",
    async (title, list) => {
      // A provider stays with its property.
      const made = await (title.includes("provider") ? approved() : another());
      for (const [of, change] of list) await changes(made, change(made), of);
      await fire(made.id);
      expect((await casino.scenario.get(made.id)).status).not.toBe("paused");
    },
  );

  test("is asked first about another look of the mails, in the name of a manager", async () => {
    const made = await another();
    const manager = await managerOf(casino.scenario.id);
    const operation = CATALOG.operations.get("set_property_theme")!;
    const asked = await onceOverMcp(casino.service, operation, { name: "Evil" }, manager);
    expect(asked.data.message).toMatch(
      /This changes what (1 person|\d+ people) \(\d+ in the audience\) gets? on /,
    );
    expect(asked.data.message).toContain("the look of the property's mails");
    const { confirm_token } = asked.data;
    const done = await onceOverMcp(casino.service, operation, { name: "Evil", confirm_token }, manager);
    expect(done.isError, JSON.stringify(done.data)).toBe(false);
    await fire(made.id);
    expect(await casino.scenario.tally(made.id)).toEqual({ sent: 4 });
  });

  test("is told what waits for another footer, in the name of a manager", async () => {
    await another();
    const operation = CATALOG.operations.get("update_property")!;
    const input = { propertyId: casino.scenario.id, legal_name: "Evil" };
    const asked = await onceOverMcp(casino.service, operation, input, await managerOf(casino.scenario.id));
    expect(asked.data.message).toContain("pause when they fire");
  });

  test("is not asked about what reaches nobody in another way", async () => {
    const { id, gold } = await another();
    for (const [name, input] of [
      ["update_campaign", { id, name: "Renamed" }],
      ["update_segment", { id: gold, name: "Renamed", description: "By an agent" }],
    ] as const) {
      const done = await agent(name, input);
      expect(done.data, name).toMatchObject({ id: input.id, name: "Renamed" });
    }
  });

  test("may take a campaign back to draft, and it goes to nobody", async () => {
    const { id } = await another();
    const done = await agent("update_campaign", { id, scheduled_at: null });
    expect(done.data).toMatchObject({ status: "draft" });
    expect(await casino.scenario.get(id)).toMatchObject({ status: "draft", approved: null });
  });
});
