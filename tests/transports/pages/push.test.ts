import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { openAutopush } from "../../support/servers/autopush.ts";
import { startService, type TestService } from "../../support/service.ts";
import { cutOff, openBrowser, visit } from "./browser.ts";
import { type Firefox, openFirefox } from "./firefox.ts";
import { partsOf, readAloud, steady } from "./read-aloud.ts";

let service: TestService;
let push: Awaited<ReturnType<typeof openAutopush>>;
let firefox: Firefox | null;
let chromium: Browser | null;
let scenario: Scenario;
beforeAll(async () => {
  push = await openAutopush();
  [chromium, service, firefox] = await Promise.all([
    openBrowser({ notifications: true }),
    startService({ webhooksAllowPrivate: true }),
    openFirefox({
      "dom.push.enabled": true,
      // Without a desktop, Firefox shows them in windows of its own.
      "alerts.useSystemBackend": false,
      "dom.push.serverURL": push.url,
      "dom.push.testing.allowInsecureServerURL": true,
      "dom.push.connection.enabled": true,
      "dom.security.https_first": false,
    }),
  ]);
  scenario = scenarioIn(service);
  await scenario.call("set_property_theme", { name: "River Casino" });
  await scenario.call("create_message_provider", {
    channel: "push",
    kind: "webpush",
    name: "Push",
    credentials: { subject: "mailto:push@casino.com" },
    allows_gaming: true,
  });
});
afterAll(async () => {
  await firefox?.close();
  await service?.stop();
  await push?.close();
});

/** The state that the page shows: it changes by itself. */
const STATE = `document.querySelector("[data-state]:not([hidden])")?.dataset.state ?? null`;

/** The notifications that the worker shows. */
const NOTIFICATIONS = `(async () => {
  const { scope } = document.querySelector("#push").dataset;
  const registration = await navigator.serviceWorker.getRegistration(scope);
  const shown = (await registration?.getNotifications()) ?? [];
  return JSON.stringify(shown.map(({ title, body, tag, data }) => ({ title, body, tag, data })));
})()`;

test("a real Firefox subscribes on the page, decrypts a campaign's message, and our worker shows it", async () => {
  if (!firefox) return;
  const { id } = await scenario.call("create_player", { player_id: "push-1", first_name: "Zoë" });
  const { url } = await scenario.call("create_player_link", { playerId: id, to: "push" });
  const page = service.baseUrl + new URL(url).pathname;
  await firefox.open(page);
  await firefox.allowNotifications(service.baseUrl);
  await expect.poll(() => firefox!.run(STATE)).toBe("off");
  // A browser that has translated the page.
  await firefox.run(`document.documentElement.lang = "ja"`);
  await firefox.run(`document.querySelector("form[data-turn=on] button").click()`);
  await expect.poll(() => firefox!.run(STATE)).toBe("on");

  const campaign = await scenario.campaign({
    channel: "push",
    body_html: null,
    body_text: "A table by the window, {{ first_name }}",
    inbox: { cta_url: "https://casino.example/seats" },
  });
  await scenario.send(campaign);
  await service.idle();
  expect(await scenario.sends(campaign)).toMatchObject([{ player: "push-1", status: "sent" }]);
  await push.acknowledged;
  // The worker shows the message after it has acknowledged it.
  await expect
    .poll(async () => JSON.parse(await firefox!.run(NOTIFICATIONS)))
    .toMatchObject([
      {
        title: "Hello Zoë",
        body: "A table by the window, Zoë",
        tag: campaign.replaceAll("-", ""),
        data: { navigate: expect.stringMatching(/\/c\/[\w.-]+$/) },
      },
    ]);
  expect(push.posted).toHaveLength(1);

  // The next visit knows this browser, and renews its subscription.
  await firefox.open(page);
  await expect.poll(() => firefox!.run(STATE)).toBe("on");

  // Behind a rotation it subscribes anew, with the new key.
  const { public_key } = await scenario.call("rotate_push_keys", { propertyId: scenario.id });
  const renewed = { filters: { "player_id.eq": id, "public_key.eq": public_key } };
  expect(await scenario.call("list_push_subscriptions", renewed)).toEqual([]);
  await firefox.open(page);
  await expect.poll(() => firefox!.run(STATE)).toBe("on");
  expect(await scenario.call("list_push_subscriptions", renewed)).toMatchObject([{ disabled_at: null }]);
  await firefox.run(`document.querySelector("form[action$=stop] button").click()`);
  await expect.poll(() => firefox!.run("document.body.innerText")).toContain("You get no more notifications");
  await expect.poll(() => firefox!.run(STATE)).toBe("off");
});

test("the page says to a screen reader what it does, and its button works at a zoom of 200 % with the keyboard alone", async () => {
  if (!chromium) return;
  const { id } = await scenario.call("create_player", { player_id: "push-3" });
  const { url } = await scenario.call("create_player_link", { playerId: id, to: "push" });
  // A tab of a test is private, and gets no subscription.
  const noPush = "console: Chrome currently does not support the Push API in incognito mode";
  const work = async (page: Page) => {
    await page.goto(service.baseUrl + new URL(url).pathname);
    await expect.poll(() => page.evaluate(STATE)).toBe("off");
    expect(await cutOff(page)).toEqual([]);
    const { main } = partsOf((await readAloud(page)).map(steady));
    await expect(`${main.join("\n")}\n`).toMatchFileSnapshot("./screen-reader-push.txt");
    const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()");
    for (let count = 0; count < 10 && (await focused()) !== "Turn on notifications"; count += 1)
      await page.keyboard.press("Tab");
    expect(await focused()).toBe("Turn on notifications");
    await page.keyboard.press("Enter");
    const words = () => page.evaluate("document.querySelector('main').innerText");
    await expect.poll(words).toContain("That did not work. Please try again in a minute.");
    expect(await cutOff(page)).toEqual([]);
  };
  await visit(chromium, { width: 320, height: 480, dark: false }, service.baseUrl, work, [noPush]);
});

test("in Chromium our worker shows the message that a push service brings", async () => {
  if (!chromium) return;
  const { id } = await scenario.call("create_player", { player_id: "push-2" });
  const { url } = await scenario.call("create_player_link", { playerId: id, to: "push" });
  await visit(chromium, { width: 360, height: 780, dark: false }, service.baseUrl, async (page) => {
    await page.goto(service.baseUrl + new URL(url).pathname);
    await expect.poll(() => page.evaluate(STATE)).toBe("off");
    const devtools = await page.context().newCDPSession(page);
    let registrationId: string | undefined;
    devtools.on("ServiceWorker.workerVersionUpdated", ({ versions }) => {
      registrationId ??= versions.find(({ status }) => status === "activated")?.registrationId;
    });
    await devtools.send("ServiceWorker.enable");
    await page.evaluate(`navigator.serviceWorker.register(
      trustedTypes.createPolicy("test", { createScriptURL: (url) => url }).createScriptURL("/push/worker.js"),
      { scope: document.querySelector("#push").dataset.scope })`);
    await expect.poll(() => registrationId).toBeDefined();
    const deliver = (data: string) =>
      devtools.send("ServiceWorker.deliverPushMessage", {
        origin: service.baseUrl,
        registrationId: registrationId!,
        data,
      });
    const messageOf = (tag: string) => {
      const notification = {
        title: "Tonight",
        body: "A table is free",
        navigate: "https://casino.example/",
        tag,
      };
      return JSON.stringify({ web_push: 8030, notification });
    };
    const shownOf = (tag: string) => ({
      title: "Tonight",
      body: "A table is free",
      tag,
      data: { navigate: "https://casino.example/" },
    });
    // Chromium drops a message that comes before it has stored the registration, and tells nobody.
    await expect
      .poll(async () => {
        await deliver(messageOf("first"));
        return JSON.parse(await page.evaluate(NOTIFICATIONS));
      })
      .toEqual([shownOf("first")]);
    for (const message of ["not JSON", "{}", messageOf("second")]) await deliver(message);
    await expect
      .poll(async () => JSON.parse(await page.evaluate(NOTIFICATIONS)))
      .toEqual(expect.arrayContaining([shownOf("second")]));
    const all: { tag: string }[] = JSON.parse(await page.evaluate(NOTIFICATIONS));
    expect(all.map(({ tag }) => tag).sort()).toEqual(["first", "second"]);
  });
});
