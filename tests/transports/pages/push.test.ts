import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { openAutopush } from "../../support/servers/autopush.ts";
import { startService, type TestService } from "../../support/service.ts";
import { openBrowser, visit } from "./browser.ts";
import { type Firefox, openFirefox } from "./firefox.ts";

let service: TestService;
let push: Awaited<ReturnType<typeof openAutopush>>;
let firefox: Firefox | null;
let chromium: Browser | null;
let scenario: Scenario;
beforeAll(async () => {
  push = await openAutopush();
  [chromium, service, firefox] = await Promise.all([
    openBrowser(),
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
  await chromium?.close();
  await service?.stop();
  await push?.close();
});

/** The state that the page shows: it changes by itself. */
const STATE = `new Promise((resolve) => {
  const look = () => {
    const shown = document.querySelector("[data-state]:not([hidden])")?.dataset.state;
    if (shown && shown !== "working") resolve(shown);
    else requestAnimationFrame(look);
  };
  look();
})`;

/** The notifications that the worker shows. The worker shows them after it has acknowledged the message. */
const NOTIFICATIONS = `(async () => {
  const { scope } = document.querySelector("#push").dataset;
  const registration = await navigator.serviceWorker.getRegistration(scope);
  for (;;) {
    const shown = await registration.getNotifications();
    if (shown.length > 0) return JSON.stringify(shown.map(({ title, body, tag, data }) => ({ title, body, tag, data })));
    await new Promise(requestAnimationFrame);
  }
})()`;

test("a real Firefox subscribes on the page, decrypts a campaign's message, and our worker shows it", async () => {
  if (!firefox) return;
  const { id } = await scenario.call("create_player", { player_id: "push-1", first_name: "Zoë" });
  const { url } = await scenario.call("create_player_link", { playerId: id, to: "push" });
  const page = service.baseUrl + new URL(url).pathname;
  await firefox.open(page);
  await firefox.allowNotifications(service.baseUrl);
  expect(await firefox.run(STATE)).toBe("off");
  await firefox.run(`document.querySelector("form[data-turn=on] button").click()`);
  expect(await firefox.run(STATE)).toBe("on");

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
  const [shown] = JSON.parse(await firefox.run(NOTIFICATIONS));
  expect(shown).toMatchObject({
    title: "Hello Zoë",
    body: "A table by the window, Zoë",
    tag: campaign.replaceAll("-", ""),
    data: { navigate: expect.stringMatching(/\/c\/[\w.-]+$/) },
  });
  expect(push.posted).toHaveLength(1);

  // The next visit knows this browser, and renews its subscription.
  await firefox.open(page);
  expect(await firefox.run(STATE)).toBe("on");
  await firefox.run(`document.querySelector("form[action$=stop] button").click()`);
  await expect.poll(() => firefox!.run("document.body.innerText")).toContain("You get no more notifications");
  expect(await firefox.run(STATE)).toBe("off");
});

test("in Chromium our worker shows the message that a push service brings", async () => {
  if (!chromium) return;
  const { id } = await scenario.call("create_player", { player_id: "push-2" });
  const { url } = await scenario.call("create_player_link", { playerId: id, to: "push" });
  await visit(chromium, { width: 360, height: 780, dark: false }, service.baseUrl, async (page) => {
    await page.goto(service.baseUrl + new URL(url).pathname);
    expect(await page.evaluate(STATE)).toBe("off");
    const devtools = await page.context().newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      devtools.on("ServiceWorker.workerVersionUpdated", ({ versions }) => {
        const active = versions.find(({ status }) => status === "activated");
        if (active) resolve(active.registrationId);
      });
    });
    await devtools.send("ServiceWorker.enable");
    await page.evaluate(`navigator.serviceWorker.register(
      trustedTypes.createPolicy("test", { createScriptURL: (url) => url }).createScriptURL("/push/worker.js"),
      { scope: document.querySelector("#push").dataset.scope })`);
    const notification = {
      title: "Tonight",
      body: "A table is free",
      navigate: "https://casino.example/",
      tag: "t",
    };
    const data = JSON.stringify({ web_push: 8030, notification });
    const registrationId = await registered;
    for (const message of ["not JSON", "{}", data]) {
      const push = { origin: service.baseUrl, registrationId, data: message };
      await devtools.send("ServiceWorker.deliverPushMessage", push);
    }
    expect(JSON.parse(await page.evaluate(NOTIFICATIONS))).toEqual([
      { title: "Tonight", body: "A table is free", tag: "t", data: { navigate: "https://casino.example/" } },
    ]);
  });
});
