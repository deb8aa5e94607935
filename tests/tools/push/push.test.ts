import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { playerToken } from "#tools/player-links/links.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { type Browser, openPushService } from "../../support/servers/push-service.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let push: Awaited<ReturnType<typeof openPushService>>;
let scenario: Scenario;
beforeAll(async () => {
  push = await openPushService();
  service = await startService({ webhooksAllowPrivate: true });
});
afterAll(async () => {
  await service?.stop();
  await push?.close();
});

beforeEach(async () => {
  scenario = await newScenario(service);
  await openPush();
});

const openPush = () =>
  scenario.call("create_message_provider", {
    channel: "push",
    kind: "webpush",
    name: "Push",
    credentials: { subject: "mailto:push@casino.com" },
    allows_gaming: true,
  });

let count = 0;
const newPlayer = async (more: object = {}): Promise<string> => {
  count += 1;
  return (await scenario.call("create_player", { player_id: `push-${count}`, first_name: "Ana", ...more }))
    .id;
};

const pageOf = (playerId: string) => {
  const until = Math.floor(Date.now() / 1000) + 3_600;
  const token = playerToken(service.internals.config, "push", { propertyId: scenario.id, playerId, until });
  return `${service.baseUrl}/push/${token}`;
};

/** As the page's script does it. */
const post = async (playerId: string, { subscription }: Pick<Browser, "subscription">, agreed = true) => {
  const answer = await fetch(pageOf(playerId), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...subscription, agreed }),
  });
  return { status: answer.status, body: await answer.json() };
};

const subscribed = async (): Promise<{ id: string; browser: Browser }> => {
  const id = await newPlayer();
  const browser = push.browser();
  expect(await post(id, browser)).toEqual({ status: 200, body: { ok: true } });
  return { id, browser };
};

const send = async (fields: object = {}): Promise<string> => {
  const id = await scenario.campaign({
    channel: "push",
    body_html: null,
    body_text: "Come, {{ first_name }}",
    ...fields,
  });
  await scenario.send(id);
  await service.idle();
  return id;
};

const browsers = (playerId: string) =>
  scenario.query(
    (sql) => sql<{ id: string; disabled_at: string | null; disabled_reason: string | null }[]>`
      select id, disabled_at, disabled_reason from push_subscriptions
      where property_id = ${scenario.id} and player_id = ${playerId}`,
  );

const shown = ({ pushed }: Browser) => pushed.map(({ payload }) => JSON.parse(payload).notification);

test("a player who presses the button gets the next campaign, encrypted, and the ledger keeps the text", async () => {
  const { id, browser } = await subscribed();
  const campaign = await send();
  expect(await scenario.sends(campaign)).toMatchObject([{ status: "sent" }]);
  const [{ title, body, navigate }] = shown(browser);
  expect({ title, body }).toEqual({ title: "Hello Ana", body: "Come, Ana" });
  const [consent] = await scenario.query(
    (sql) => sql`
      select action, consent_level, consent_source, consent_text, actor_type from consent_records
      where property_id = ${scenario.id} and player_id = ${id}`,
  );
  expect(consent).toMatchObject({ action: "granted", consent_level: "express", consent_source: "push_page" });
  expect(consent!.consent_text).toMatch(/^Yes, .* may send me marketing notifications in this browser/);
  // A click is counted, and leads to the player's own inbox.
  const opened = await fetch(service.baseUrl + new URL(navigate).pathname, {
    redirect: "manual",
    headers: { "user-agent": "Mozilla/5.0 Chrome/140.0" },
  });
  expect(opened.status).toBe(302);
  const inbox = new URL(opened.headers.get("location")!).pathname;
  expect(inbox).toMatch(/^\/inbox\//);
  expect((await fetch(service.baseUrl + inbox)).status).toBe(200);
  expect(await scenario.stats(campaign)).toMatchObject({ clicks_unique: 1 });
});

test("after a rotation a browser gets messages by its old key until it renews, and a new one by the new key", async () => {
  const old = await subscribed();
  const { public_key: oldKey } = await scenario.call("show_push", { playerId: old.id });
  const rotated = await scenario.call("rotate_push_keys", { propertyId: scenario.id });
  expect(rotated).toMatchObject({ success: true, older: 1 });
  expect(rotated.public_key).not.toBe(oldKey);
  expect((await scenario.call("show_push", { playerId: old.id })).public_key).toBe(rotated.public_key);
  // The page was opened before the rotation, and renews what it has.
  const renewing = { subscription: { ...old.browser.subscription, publicKey: oldKey } };
  expect(await post(old.id, renewing, false)).toMatchObject({ status: 200 });
  const fresh = await subscribed();
  await send();
  expect(old.browser.pushed.map(({ key }) => key)).toEqual([oldKey]);
  expect(fresh.browser.pushed.map(({ key }) => key)).toEqual([rotated.public_key]);
  const strange = { subscription: { ...old.browser.subscription, publicKey: "BNbN" } };
  expect(await post(old.id, strange, false)).toMatchObject({ status: 400 });
  // As the page does it: the browser subscribes anew with the new key.
  const renewed = { subscription: { ...push.browser().subscription, publicKey: rotated.public_key } };
  expect(await post(old.id, renewed, false)).toMatchObject({ status: 200 });
});

const keysOf = async () =>
  (
    await scenario.query(
      (sql) =>
        sql<{ public_key: string }[]>`select public_key from push_keys where property_id = ${scenario.id}`,
    )
  ).map(({ public_key }) => public_key);
const rotate = async () =>
  (await scenario.call("rotate_push_keys", { propertyId: scenario.id })) as {
    public_key: string;
    older: number;
  };

test("an app that reports a known browser again, and names no key, leaves it its key", async () => {
  const old = await subscribed();
  const [oldKey] = await keysOf();
  await rotate();
  expect(await post(old.id, old.browser, false)).toMatchObject({ status: 200 });
  await send();
  expect(old.browser.pushed.map(({ key }) => key)).toEqual([oldKey]);
});

test("a browser whose page was opened before a rotation subscribes with the key that it was shown", async () => {
  const id = await newPlayer();
  const { public_key: shownKey } = await scenario.call("show_push", { playerId: id });
  await rotate();
  const browser = push.browser();
  const late = { subscription: { ...browser.subscription, publicKey: shownKey } };
  expect(await post(id, late)).toEqual({ status: 200, body: { ok: true } });
  await send();
  expect(browser.pushed.map(({ key }) => key)).toEqual([shownKey]);
});

test("a rotation forgets a key that was retired more than a day ago, and that no browser needs", async () => {
  const { id } = await subscribed();
  const [first] = await keysOf();
  const [{ public_key: second }, { older }] = [await rotate(), await rotate()];
  expect(older).toBe(1);
  expect(await keysOf()).toContain(second);
  const yesterday = new Date(Date.now() - 25 * 3_600_000).toISOString();
  await scenario.query(
    (sql) => sql`
      update push_keys set retired_at = ${yesterday} where property_id = ${scenario.id} and retired_at is not null`,
  );
  await rotate();
  expect(await keysOf()).toContain(first);
  expect(await keysOf()).not.toContain(second);
  expect((await browsers(id))[0]!.disabled_at).toBeNull();
});

test.each([
  ["fr", "Oui, ", "push-page-1-fr"],
  ["de-AT", "Ja, ", "push-page-1-de"],
  ["es", "Sí, ", "push-page-1-es"],
  ["zh-Hans", "是的，", "push-page-1-zh"],
  ["pt", "Yes, ", "push-page-1"],
])("a player with the language %s agrees to a text that they can read", async (language, begins, version) => {
  const id = await newPlayer({ language });
  const html = await (await fetch(pageOf(id))).text();
  await post(id, push.browser());
  const [consent] = await scenario.query(
    (sql) => sql`
      select consent_text, consent_version from consent_records
      where property_id = ${scenario.id} and player_id = ${id}`,
  );
  expect(consent).toMatchObject({ consent_version: version });
  expect(consent!.consent_text.startsWith(begins)).toBe(true);
  expect(html.replaceAll("&#39;", "'")).toContain(consent!.consent_text);
});

test("the ledger keeps the text that was shown, also when the page would show another one by now", async () => {
  const id = await newPlayer({ language: "fr" });
  const { subscription } = push.browser();
  const answer = await fetch(pageOf(id), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...subscription, agreed: true, language: "de" }),
  });
  expect(answer.status).toBe(200);
  const [consent] = await scenario.query(
    (sql) => sql`
      select consent_version from consent_records where property_id = ${scenario.id} and player_id = ${id}`,
  );
  expect(consent).toEqual({ consent_version: "push-page-1-de" });
});

test("a visit takes no browser over from another player: only the button does", async () => {
  const { id: ann } = await subscribed();
  const { id: bob, browser: shared } = await subscribed();
  // Ann opens her page in the browser in which Bob has agreed.
  expect(await post(ann, shared, false)).toEqual({ status: 409, body: { code: "conflict" } });
  expect([await browsers(ann), await browsers(bob)]).toMatchObject([[{}], [{ disabled_at: null }]]);
  // Nor when Bob has stopped his notifications there.
  await scenario.call("unsubscribe_push", { playerId: bob });
  expect((await post(ann, shared, false)).status).toBe(409);
  expect((await post(ann, shared)).status).toBe(200);
  expect([await browsers(ann), await browsers(bob)]).toMatchObject([[{}, {}], []]);
});

test("no answer of the page is kept, names its address to others, or has its type guessed", async () => {
  const id = await newPlayer();
  const page = pageOf(id);
  const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  for (const answer of [await fetch(page), await fetch(`${page}/app.webmanifest`), await fetch(page, json)]) {
    expect(Object.fromEntries(answer.headers), answer.url).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
  }
});

test("all browsers of a player get it, as one message", async () => {
  const { id, browser } = await subscribed();
  const phone = push.browser();
  await post(id, phone);
  const campaign = await send();
  expect([shown(browser), shown(phone)].map((one) => one.length)).toEqual([1, 1]);
  expect(await scenario.sends(campaign)).toHaveLength(1);
});

test("a player with no browser, no consent, or a bar gets nothing and is told apart", async () => {
  const none = await newPlayer();
  const refused = await subscribed();
  await scenario.call("consent_revoke", { propertyId: scenario.id, playerId: refused.id, channel: "push" });
  const excluded = await subscribed();
  await scenario.call("create_self_exclusion", { player_id: excluded.id });
  const erased = await subscribed();
  await scenario.call("data_deletion", { propertyId: scenario.id, playerId: erased.id, reason: "asked" });
  await service.idle();
  const { id } = await subscribed();
  const campaign = await send();
  const reasons = await scenario.query(
    (sql) => sql<{ player_id: string; skip_reasons: string[] }[]>`
      select player_id, skip_reasons from campaign_sends where property_id = ${scenario.id} and campaign_id = ${campaign}`,
  );
  const of = (player: string) => reasons.find(({ player_id }) => player_id === player)?.skip_reasons;
  expect(of(none)).toEqual(["invalid_address", "no_consent"]);
  expect(of(refused.id)).toEqual(["no_consent", "suppressed"]);
  expect(of(excluded.id)).toContain("self_excluded");
  expect(of(id)).toEqual([]);
  expect([refused, excluded, erased].flatMap(({ browser }) => browser.pushed)).toEqual([]);
  // The page is closed to the excluded, and nothing of the erased is left.
  expect((await fetch(pageOf(excluded.id))).status).toBe(404);
  const left = await scenario.query(
    (sql) =>
      sql`select from push_subscriptions where property_id = ${scenario.id} and player_id = ${erased.id}`,
  );
  expect(left).toHaveLength(0);
});

test("a browser that is gone gets nothing any more, until it comes back", async () => {
  const { id, browser } = await subscribed();
  browser.answers.push({ status: 410 });
  const first = await send();
  expect(await scenario.sends(first)).toMatchObject([{ status: "failed", error_code: "subscription_gone" }]);
  expect(await scenario.sends(await send())).toMatchObject([
    { status: "skipped", skip_reasons: ["invalid_address"] },
  ]);
  // A visit with the same subscription renews it, and is no new consent.
  await post(id, browser, false);
  expect(await scenario.sends(await send())).toMatchObject([{ status: "sent" }]);
  const consents = await scenario.query(
    (sql) => sql`select from consent_records where property_id = ${scenario.id} and player_id = ${id}`,
  );
  expect(consents).toHaveLength(1);
});

test("stopping stops every browser at once, and a visit alone turns nothing on again", async () => {
  const { id, browser } = await subscribed();
  const answer = await fetch(`${pageOf(id)}/stop`, { method: "POST" });
  expect(await answer.text()).toContain("You get no more notifications");
  await post(id, browser, false);
  expect(await scenario.sends(await send())).toMatchObject([
    { status: "skipped", skip_reasons: ["invalid_address", "no_consent", "suppressed"] },
  ]);
  await post(id, browser);
  expect(await scenario.sends(await send())).toMatchObject([{ status: "sent" }]);
  expect(browser.pushed).toHaveLength(1);
});

test("no credential reads the address and the keys of a browser, and the person's own export has them", async () => {
  const { id, browser } = await subscribed();
  const [listed] = await scenario.call("list_push_subscriptions", { filters: { "player_id.eq": id } });
  const { host } = new URL(browser.subscription.endpoint);
  expect(listed).toMatchObject({ player_id: id, endpoint_host: host });
  const one = await scenario.call("get_push_subscription", { id: listed.id });
  for (const shown of [listed, one]) {
    expect(Object.keys(shown)).not.toEqual(expect.arrayContaining(["endpoint"]));
    for (const secret of Object.values(browser.subscription)) {
      expect(JSON.stringify(shown)).not.toContain(JSON.stringify(secret));
    }
  }
  await expect(
    scenario.call("list_push_subscriptions", { filters: { "auth.eq": browser.subscription.auth } }),
  ).rejects.toThrow();
  const own = await scenario.call("data_export", { propertyId: scenario.id, playerId: id });
  expect(own.push_subscriptions).toMatchObject([{ endpoint: browser.subscription.endpoint }]);
});

test("a shared browser belongs to the player who subscribed last", async () => {
  const { id, browser } = await subscribed();
  const other = await newPlayer({ first_name: "Bo" });
  await post(other, browser);
  await send();
  expect(shown(browser).map(({ body }) => body)).toEqual(["Come, Bo"]);
  expect(await browsers(id)).toEqual([]);
});

test("the ten browsers of a player are the last ten", async () => {
  const { id } = await subscribed();
  for (let n = 0; n < 11; n += 1) await post(id, push.browser());
  const rows = await browsers(id);
  expect(rows.filter(({ disabled_at }) => disabled_at === null)).toHaveLength(10);
  expect(rows.filter(({ disabled_reason }) => disabled_reason === "replaced")).toHaveLength(2);
});

test("the casino's own app gives a player no more than ten browsers either", async () => {
  const id = await newPlayer();
  const added = () => ({ player_id: id, ...push.browser().subscription });
  const one = () => scenario.call("create_push_subscription", added());
  for (let n = 0; n < 9; n += 1) await one();
  await Promise.all([one(), one(), one()]);
  const rows = await browsers(id);
  expect(rows.filter(({ disabled_at }) => disabled_at === null)).toHaveLength(10);
  expect(rows.filter(({ disabled_reason }) => disabled_reason === "replaced")).toHaveLength(2);
});

test("a browser that is added by several calls at once is named to all but the first", async () => {
  const players = [await newPlayer(), await newPlayer(), await newPlayer(), await newPlayer()];
  const { subscription } = push.browser();
  const made = await Promise.allSettled(
    players.map((player_id) => scenario.call("create_push_subscription", { player_id, ...subscription })),
  );
  const refusals = made.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  const [stored] = await scenario.call("list_push_subscriptions", {});
  expect(refusals).toHaveLength(3);
  for (const refusal of refusals) expect(refusal).toContain(`subscribed already, as ${stored.id}`);
});

test("a player with the browsers of a merged one has the last ten of both", async () => {
  const [kept, other] = [await newPlayer(), await newPlayer()];
  const add = (player_id: string) =>
    scenario.call("create_push_subscription", { player_id, ...push.browser().subscription });
  for (let n = 0; n < 7; n += 1) await add(other);
  const lasting: string[] = [];
  for (let n = 0; n < 7; n += 1) lasting.push((await add(kept)).id);
  await scenario.call("merge_players", { propertyId: scenario.id, playerId: kept, duplicateId: other });
  const rows = await scenario.call("list_push_subscriptions", { filters: { "player_id.eq": kept } });
  const open = rows.filter((row: { disabled_at: string | null }) => row.disabled_at === null);
  expect([rows.length, open.length]).toEqual([14, 10]);
  expect(open.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(lasting));
  // The merge is no word of the browsers that it moves: they go first.
  lasting.push((await add(kept)).id, (await add(kept)).id, (await add(kept)).id);
  const last = (await browsers(kept)).flatMap(({ id, disabled_at }) => (disabled_at === null ? [id] : []));
  expect(last.toSorted()).toEqual(lasting.toSorted());
});

test.each([
  ["no keys", { p256dh: undefined }],
  ["a point that is on no curve", { p256dh: Buffer.alloc(65, 4).toString("base64url") }],
  ["a short secret", { auth: "AAAA" }],
  ["no address", { endpoint: "browser" }],
  ["an address with a password", { endpoint: "https://a:b@push.example.com/x" }],
  ["a long address", { endpoint: `https://push.example.com/${"x".repeat(3_000)}` }],
  ["numbers", { endpoint: 7, auth: 7, p256dh: 7 }],
])("a subscription with %s is refused and stores nothing", async (_, flaw) => {
  const id = await newPlayer();
  const subscription = { ...push.browser().subscription, ...flaw } as Browser["subscription"];
  expect((await post(id, { subscription })).status).toBe(400);
  const stored = await scenario.query(
    (sql) => sql`select from push_subscriptions where property_id = ${scenario.id} and player_id = ${id}`,
  );
  expect(stored).toHaveLength(0);
});

test("another page's link, another property's and nobody's open nothing", async () => {
  const id = await newPlayer();
  const until = Math.floor(Date.now() / 1000) + 3_600;
  const inbox = playerToken(service.internals.config, "inbox", {
    propertyId: scenario.id,
    playerId: id,
    until,
  });
  const foreign = playerToken(service.internals.config, "push", {
    propertyId: service.tenant.id,
    playerId: id,
    until,
  });
  for (const token of [inbox, foreign, "a.b"]) {
    expect((await fetch(`${service.baseUrl}/push/${token}`)).status, token).toBe(404);
    expect((await fetch(`${service.baseUrl}/push/${token}/stop`, { method: "POST" })).status, token).toBe(
      404,
    );
  }
});

test("the push service forgets a message when its time, its offer or the player's open hours end", async () => {
  // A zone in which it is about noon: the day's hours end at 20:00.
  const ahead = 12 - new Date().getUTCHours();
  scenario = await newScenario(service, { timezone: `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}` });
  await openPush();
  const { browser } = await subscribed();
  const ttlOf = async (fields: object = {}) => {
    await send(fields);
    return Number(browser.pushed.at(-1)!.headers.ttl);
  };
  const about = (seconds: number) => [seconds - 60, seconds];
  const within = (ttl: number, [least, most]: number[]) => {
    expect(ttl).toBeGreaterThanOrEqual(least!);
    expect(ttl).toBeLessThanOrEqual(most!);
  };
  within(await ttlOf(), about(72 * 3_600));
  within(await ttlOf({ expires_after_hours: 2 }), about(2 * 3_600));
  const offer = {
    type: "Free play",
    value: "$25",
    expires_at: new Date(Date.now() + 1_800_000).toISOString(),
  };
  within(await ttlOf({ inbox: { offer } }), about(1_800));
  await scenario.call("create_quiet_hours_rule", {
    channel: ["push"],
    open_local: "00:00",
    close_local: "20:00",
  });
  const local = new Date(Date.now() + ahead * 3_600_000);
  const left = (20 - local.getUTCHours()) * 3_600 - local.getUTCMinutes() * 60 - local.getUTCSeconds();
  within(await ttlOf(), about(left));
});

test("a test message goes to the player's own browsers", async () => {
  const { id, browser } = await subscribed();
  const campaign = await scenario.campaign({
    channel: "push",
    body_html: null,
    body_text: "Come, {{ first_name }}",
  });
  const about = { campaignId: campaign, propertyId: scenario.id };
  await expect(scenario.call("send_test_message", { ...about, to: "a@example.com" })).rejects.toThrow(
    /playerId/,
  );
  await scenario.call("send_test_message", { ...about, playerId: id });
  await service.idle();
  const sends = await scenario.query(
    (sql) => sql`select status, skip_reasons, error_code from campaign_sends
      where property_id = ${scenario.id} and test_of = ${campaign}`,
  );
  expect(sends).toMatchObject([{ status: "sent" }]);
  expect(shown(browser)).toMatchObject([{ body: "Come, Ana" }]);
});
