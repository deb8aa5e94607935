import { afterAll, beforeAll, expect } from "vitest";
import { raw } from "#db/sql.ts";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../../support/operation-calls.ts";
import { type Scenario, scenarioIn } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

export type Fields = Record<string, unknown>;

/** Ids. */
interface Parts {
  template: string;
  gold: string;
  vips: string;
}

/** A service for the tests of a file, and the calls of an agent there. `approved` makes a property of its own. */
export function openApprovals() {
  const casino = {} as { service: TestService; scenario: Scenario; key: string; parts: Parts };
  beforeAll(async () => {
    casino.service = await startService({ role: "web" });
  });
  afterAll(() => casino.service?.stop());

  const agent = (name: string, input: Fields) =>
    onceOverMcp(casino.service, CATALOG.operations.get(name)!, input, { "X-Api-Key": casino.key });

  /** The headers of a signed-in manager of the property. */
  async function managerOf(propertyId: string) {
    const { id, token } = await casino.service.signIn({ role: null });
    await casino.service.call("grant_membership", { user_id: id, property_id: propertyId, role: "manager" });
    return { Authorization: `Bearer ${token}`, "X-Api-Key": null, "X-Property-Id": propertyId };
  }

  /** The time has come. */
  async function fire(id: string): Promise<void> {
    await casino.scenario.comeDue(id);
    await casino.scenario.work();
  }

  /** Changes a row behind the service's back. */
  async function sqlOf(statement: string, id: string): Promise<void> {
    const { scenario } = casino;
    await scenario.query((sql) => sql`${raw(statement)} where property_id = ${scenario.id} and id = ${id}`);
  }

  /** A property with four Gold players, and one who is not, and what its campaigns are made of. */
  async function open(): Promise<void> {
    const { id, key } = await casino.service.newTenant();
    const scenario = scenarioIn(casino.service, id);
    await scenario.crowd(5, "g");
    await scenario.query(
      (sql) => sql`
        update players set tier = case player_id when 'g-5' then 'Silver' else 'Gold' end,
          first_name = (array['ann', 'bea', 'cyd', 'dee', 'eve'])[right(player_id, 1)::int]
        where property_id = ${id}`,
    );
    const template = await scenario.call("create_template", {
      name: "Offer",
      subject: "Approved subject",
      html: "<p>Approved</p>",
    });
    const vips = await scenario.call("create_segment", { name: "VIPs", type: "static" });
    const gold = await scenario.call("create_segment", {
      name: "Gold",
      conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
      exclude_segment_ids: [vips.id],
    });
    Object.assign(casino, {
      ...{ scenario, key },
      parts: { template: template.id, gold: gold.id, vips: vips.id },
    });
  }

  /** A campaign to the Gold players that people have approved for a year from now, and what it is made of. */
  async function approved(fields: Fields = {}) {
    await open();
    return another(fields);
  }

  /** The same in the property of the campaign before it, which has gone or only is asked about. */
  async function another(fields: Fields = {}) {
    if (!casino.scenario) await open();
    const { scenario, parts } = casino;
    const id = await scenario.campaign({
      template_id: parts.template,
      subject: null,
      body_html: null,
      audience: null,
      segment_id: parts.gold,
      ...fields,
    });
    const input = {
      campaign_id: id,
      segment_id: parts.gold,
      scheduled_at: new Date(Date.now() + 365 * 86_400_000).toISOString(),
    };
    const shown = await agent("schedule_campaign", input);
    expect(shown.isError, JSON.stringify(shown.data)).toBe(false);
    const done = await agent("schedule_campaign", { ...input, confirm_token: shown.data.confirm_token });
    expect(done.data).toMatchObject({ campaign: { status: "scheduled" } });
    return { id, ...parts, shown: String(shown.data.message) };
  }

  return { casino, agent, managerOf, fire, sqlOf, approved, another };
}

export type Approved = Awaited<ReturnType<ReturnType<typeof openApprovals>["approved"]>>;
