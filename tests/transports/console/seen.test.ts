import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type FormBrowser, signedIn } from "./form-browser.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
  const { id } = await service.call("create_player", { player_id: "Reached", email: "reached@example.com" });
  await service.call("consent_record", {
    propertyId: service.tenant.id,
    playerId: id,
    channel: "email",
    consentGiven: true,
  });
});
afterAll(() => service?.stop());

const CHANGED = "This has been changed since your page showed it";

/** The hidden version of the page's form that posts to the path. */
async function shownVersion(one: FormBrowser, page: string, action: string): Promise<string> {
  const { text } = await one.get(page);
  const form = text.split(`action="${action}"`)[1]?.split("</form>")[0] ?? "";
  const version = /name="version" value="(\d+)"/.exec(form)?.[1];
  if (version === undefined) throw new Error(`${page} has no form for ${action}`);
  return version;
}

async function campaign(fields: object = {}): Promise<string> {
  const mail = { channel: "email", subject: "First", body_html: "<p>A</p>" };
  const all = "segment_id" in fields ? {} : { audience: "all" };
  return (await service.call("create_campaign", { name: crypto.randomUUID(), ...mail, ...all, ...fields }))
    .id;
}

describe("a page that is older than its record", () => {
  test.each(["send", "schedule"])("does not %s a campaign that has changed since its check", async (act) => {
    const one = await signedIn(service);
    const template = await service.call("create_template", {
      ...{ name: crypto.randomUUID(), channel: "email", subject: "First", html: "<p>A</p>" },
    });
    const conditions = [{ field: "tier", operator: "not_in", value: ["Gold"] }];
    const segment = await service.call("create_segment", { name: crypto.randomUUID(), conditions });
    const list = await service.call("create_segment", { name: crypto.randomUUID(), type: "static" });
    const player = await service.call("create_player", {});
    const id = await campaign({
      template_id: template.id,
      segment_id: segment.id,
      exclude_segment_ids: [list.id],
    });
    const path = `/console/campaigns/${id}`;
    const checked = async () => {
      const { text } = await one.get(`${path}/check`);
      const form = text.split(`action="${path}/${act}"`)[1]!.split("</form>")[0]!;
      return /name="fingerprint" value="([0-9a-f]{64}-\d+)"/.exec(form)![1]!;
    };
    const time = { scheduled_at: "2036-01-01T10:00", send_in_player_timezone: "yes" };
    const changes = {
      "its subject": () => service.call("update_campaign", { id, subject: `Another one before ${act}` }),
      "its template": () => service.call("update_template", { id: template.id, html: "<p>B</p>" }),
      "its segment": () =>
        service.call("update_segment", {
          id: segment.id,
          conditions: [{ field: "tier", operator: "not_in", value: ["Silver"] }],
        }),
      "the players of its list": () =>
        service.call("create_segment_member", { segment_id: list.id, player_id: player.id }),
      "the sender": () => service.call("update_property", { from_name: `Another one before ${act}` }),
    };
    for (const [change, work] of Object.entries(changes)) {
      const fingerprint = await checked();
      await work();
      const late = await one.post(`${path}/${act}`, { fingerprint, ...time });
      expect([change, late.status, late.text.includes(CHANGED)]).toEqual([change, 409, true]);
      expect(await service.call("get_campaign", { id })).toMatchObject({ status: "draft" });
    }
    const fingerprint = await checked();
    await service.call("update_campaign", { id, name: crypto.randomUUID() });
    expect((await one.post(`${path}/${act}`, { fingerprint, ...time })).status).toBe(303);
  });

  test("does not write over another person's message, unless it is sent again", async () => {
    const one = await signedIn(service);
    const id = await campaign();
    const path = `/console/campaigns/${id}`;
    const version = await shownVersion(one, path, path);
    await service.call("update_campaign", { id, subject: "A colleague's" });
    const mine = { name: "Mine", subject: "Mine", body_html: "<p>A</p>", to: "all" };
    const late = await one.post(path, { ...mine, version });
    expect([late.status, late.text.includes(CHANGED), late.text.includes('value="Mine"')]).toEqual([
      409,
      true,
      true,
    ]);
    expect(await service.call("get_campaign", { id })).toMatchObject({ subject: "A colleague's" });
    const again = /name="version" value="(\d+)"/.exec(late.text)![1]!;
    expect((await one.post(path, { ...mine, version: again })).status).toBe(303);
    expect(await service.call("get_campaign", { id })).toMatchObject({ subject: "Mine" });
  });

  test("does not write over a test, a template or a segment", async () => {
    const one = await signedIn(service);
    const tested = await campaign();
    const { id: template } = await service.call("create_template", {
      name: crypto.randomUUID(),
      channel: "email",
      html: "<p>A</p>",
    });
    const conditions = [{ field: "tier", operator: "in", value: ["Gold"] }];
    const { id: segment } = await service.call("create_segment", { name: crypto.randomUUID(), conditions });
    const rule = { "g0r0.field": "tier", "g0r0.operator": "in", "g0r0.value": "Silver", do: "save" };
    for (const [page, action, fields, change] of [
      [
        `/console/campaigns/${tested}`,
        `/console/campaigns/${tested}/ab-test`,
        { metric: "click", test_percent: "10", duration_minutes: "60", min_sample: "10" },
        () => service.call("update_campaign", { id: tested, subject: "B" }),
      ],
      [
        `/console/templates/${template}`,
        `/console/templates/${template}`,
        { name: "Mine", html: "<p>B</p>" },
        () => service.call("update_template", { id: template, html: "<p>C</p>" }),
      ],
      [
        `/console/segments/${segment}/edit`,
        `/console/segments/${segment}/edit`,
        { name: "Mine", ...rule },
        () => service.call("update_segment", { id: segment, description: "C" }),
      ],
    ] as const) {
      const version = await shownVersion(one, page, action);
      await change();
      const late = await one.post(action, { ...fields, version });
      expect([action, late.status, late.text.includes(CHANGED)]).toEqual([action, 409, true]);
      const again = /name="version" value="(\d+)"/.exec(late.text)![1]!;
      expect([action, (await one.post(action, { ...fields, version: again })).status]).toEqual([action, 303]);
    }
  });

  test("does not publish a draft that has changed since it was shown", async () => {
    const one = await signedIn(service);
    const nodes = [{ id: "start", type: "trigger", config: { on: "api" } }];
    const created = await service.call("create_journey", {
      name: crypto.randomUUID(),
      draft_definition: {
        nodes: [...nodes, { id: "end", type: "exit", config: {} }],
        edges: [{ from: "start", to: "end" }],
      },
    });
    const path = `/console/journeys/${created.id}`;
    const version = await shownVersion(one, path, `${path}/publish`);
    await service.call("update_journey", { id: created.id, description: "Another one" });
    const late = await one.post(`${path}/publish`, { version });
    expect([late.status, late.text.includes(CHANGED)]).toEqual([409, true]);
    expect(await service.call("get_journey", { id: created.id })).toMatchObject({ status: "draft" });
    const now = await shownVersion(one, path, `${path}/publish`);
    expect((await one.post(`${path}/publish`, { version: now })).status).toBe(303);
  });

  test("does not put back the theme that a colleague has changed", async () => {
    const one = await signedIn(service);
    const path = "/console/settings/theme";
    const shown = async (text: string) => {
      const form = text.split(`action="${path}"`)[1]!.split("</form>")[0]!;
      const values = [...form.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)];
      return { ...Object.fromEntries(values.map(([, name, value]) => [name, value])), language: "en" };
    };
    const mine = { ...(await shown((await one.get(path)).text)), name: "Mine" };
    await service.call("set_property_theme", { join_url: "https://example.com/join" });
    const late = await one.post(path, mine);
    expect([late.status, late.text.includes(CHANGED)]).toEqual([409, true]);
    const join_url = "https://example.com/join";
    expect(await service.call("get_property_theme", {})).toMatchObject({ name: null, join_url });
    expect((await one.post(path, { ...(await shown(late.text)), join_url })).status).toBe(303);
    expect(await service.call("get_property_theme", {})).toMatchObject({ name: "Mine", join_url });
  });

  test.each(["property", "limits"])(
    "does not put back the settings that a colleague has changed: %s",
    async (page) => {
      const one = await signedIn(service);
      const path = `/console/settings/${page}`;
      const { text } = await one.get(path);
      const version = /name="version" value="([^"]+)"/.exec(text)![1]!;
      const mine = { property_id: service.tenant.id };
      await service.call("update_property", { ...mine, mask_for_analysts: true, approval_over_players: 5 });
      const shown = {
        ...{ name: "Mine", timezone: "America/New_York", default_country: "US", min_age: "21" },
        ...{ email_consent_mode: "opt_in", tracking: "on", approval_mail: "on", mask_for_analysts: "false" },
        ...{ approval_over_players: "", approval_four_eyes: "off", approval_growth_percent: "25" },
      };
      const late = await one.post(path, { ...shown, version });
      expect([late.status, late.text.includes(CHANGED)]).toEqual([409, true]);
      const now = await service.call("get_property", {});
      expect(now).toMatchObject({ mask_for_analysts: true, approval_over_players: 5 });
      const again = /name="version" value="([^"]+)"/.exec(late.text)![1]!;
      expect((await one.post(path, { ...shown, version: again })).status).toBe(303);
      await service.call("update_property", {
        ...mine,
        mask_for_analysts: false,
        approval_over_players: null,
      });
    },
  );
});
