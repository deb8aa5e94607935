import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { openBrowser, openTab, violations } from "./browser.ts";
import { FREE_PLAY } from "./casino.ts";

const browser = await openBrowser();
let service: TestService;
let token: string;

/** The casino's own site, which is another origin than ours and has a strict policy of its own. */
const site = createServer((_, response) => {
  const ours = service.baseUrl;
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.setHeader(
    "content-security-policy",
    `default-src 'none'; script-src ${ours}; connect-src ${ours}; style-src 'self'; img-src data:; require-trusted-types-for 'script'`,
  );
  response.end(`<!doctype html><html lang="de"><head><title>Casino</title><link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">
<script type="module" src="${ours}/player-inbox.js"></script></head>
<body><main><h1>Casino</h1><player-inbox token="${token}" lang="de"></player-inbox></main></body></html>`);
});

beforeAll(async () => {
  if (!browser) return;
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  service = await startService({ corsOrigins: [origin] });
  const propertyId = service.tenant.id;
  const call = (name: string, input: object) => service.call(name, input, propertyId);
  const { id: playerId } = await call("create_player", { player_id: "ana", first_name: "Ana", tier: "Gold" });
  const { id } = await call("create_campaign", {
    ...{ name: "Free play", channel: "loyaltyvip", audience: "all" },
    ...FREE_PLAY,
  });
  await call("send_campaign", { campaignId: id, propertyId });
  await service.idle();
  ({ token } = await call("create_subject_token", { propertyId, playerId, to: "inbox" }));
});
afterAll(async () => {
  site.closeAllConnections();
  site.close();
  await service?.stop();
});

test.runIf(browser)(
  "<player-inbox> shows, opens and archives messages on the casino's own site",
  async () => {
    const home = `http://127.0.0.1:`;
    const { page, complaints, close } = await openTab(
      browser!,
      { width: 360, height: 780, dark: false },
      home,
    );
    try {
      await page.goto(`${home}${(site.address() as AddressInfo).port}/`);
      const inbox = page.locator("player-inbox");
      await inbox.locator("li").waitFor();
      expect(await violations(page)).toEqual([]);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/element-list.png` });
      await inbox.getByRole("button", { name: "Ana, $25 free play is yours", exact: true }).click();
      await inbox.locator("code").waitFor();
      expect(await inbox.locator("code").textContent()).toBe("GOLD-7731");
      expect(await inbox.locator("article").textContent()).toContain("Gültig bis");
      expect(await violations(page)).toEqual([]);
      if (process.env.PICTURES)
        await page.screenshot({ path: `${process.env.PICTURES}/element-message.png` });
      await inbox.getByRole("button", { name: "Archivieren" }).click();
      await inbox.getByText("Noch keine Nachrichten").waitFor();
      // The message took the focus with it.
      expect(await page.evaluate("document.activeElement.localName")).toBe("player-inbox");
      expect(complaints).toEqual([]);
    } finally {
      await close();
    }
  },
);

test.runIf(browser)("<player-inbox> follows its token and its language", async () => {
  const propertyId = service.tenant.id;
  const call = (name: string, input: object) => service.call(name, input, propertyId);
  const home = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { id } = await call("create_player", { player_id: "many", first_name: "Eva" });
  const messages = Array.from({ length: 21 }, (_, number) => `Nachricht ${number}`);
  for (const title of messages) await addMessage(id, title);
  const { token: ofMany } = await call("create_subject_token", { playerId: id, to: "inbox" });
  const { page, close } = await openTab(browser!, { width: 360, height: 780, dark: false }, home);
  try {
    await page.goto(home);
    const inbox = page.locator("player-inbox");
    const set = (name: string, value: string) =>
      inbox.evaluate((one, [key, text]) => one.setAttribute(key!, text!), [name, value]);
    await set("token", ofMany);
    await inbox.getByRole("button", { name: "Ältere Nachrichten" }).click();
    await inbox.getByRole("button", { name: "Neuere Nachrichten" }).waitFor();
    await set("lang", "fr");
    await inbox.getByRole("button", { name: "Messages plus récents" }).waitFor();
    // Signed out: nobody behind the player reads on.
    await inbox.evaluate((one) => one.removeAttribute("token"));
    await expect.poll(() => inbox.evaluate((one) => one.shadowRoot!.textContent)).toBe("");
    // The next player begins at their own first page.
    const { id: next } = await call("create_player", { player_id: "next", first_name: "Max" });
    await addMessage(next, "Für Max");
    await set("token", (await call("create_subject_token", { playerId: next, to: "inbox" })).token);
    await inbox.getByText("Für Max").waitFor();
  } finally {
    await close();
  }
});

test.runIf(browser)("<player-inbox> shows the archive, and days by the casino's clock", async () => {
  const propertyId = service.tenant.id;
  const call = (name: string, input: object) => service.call(name, input, propertyId);
  const home = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  await call("update_property", { propertyId, timezone: "Pacific/Kiritimati" });
  const { id } = await call("create_player", { player_id: "late", first_name: "Lea" });
  await addMessage(id, "Spät", "2026-01-05T20:00:00Z");
  const { token } = await call("create_subject_token", { playerId: id, to: "inbox" });
  const { page, close } = await openTab(browser!, { width: 360, height: 780, dark: false }, home);
  try {
    await page.goto(home);
    const inbox = page.locator("player-inbox");
    await inbox.evaluate((one, text) => one.setAttribute("token", text), token);
    await inbox.getByText("06.01.2026").waitFor();
    await inbox.getByRole("button", { name: "Archivieren" }).click();
    await inbox.getByRole("button", { name: "Archiviert", exact: true }).click();
    await inbox.getByRole("button", { name: "Ins Postfach verschieben" }).click();
    await inbox.getByRole("button", { name: "Postfach", exact: true }).click();
    await inbox.getByText("Spät").waitFor();
  } finally {
    await close();
  }
});

test.runIf(browser)("<player-inbox> asks for no token behind the player's own sign-out", async () => {
  const home = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { page, close } = await openTab(browser!, { width: 360, height: 780, dark: false }, home);
  try {
    await page.clock.install();
    // The stream of news ends, as it does behind a proxy that cuts long answers.
    await page.route("**/player/inbox/badge", (route) =>
      route.fulfill({ status: 200, body: "", headers: { "access-control-allow-origin": home } }),
    );
    const badge = page.waitForResponse("**/player/inbox/badge");
    await page.goto(home);
    await badge;
    const inbox = page.locator("player-inbox");
    await inbox.locator("button").first().waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await inbox.evaluate((one) => one.removeAttribute("token"));
    await page.clock.runFor(20_000);
    const last = `${service.baseUrl}/player-inbox.js`;
    await page.evaluate((url) => fetch(url, { mode: "no-cors" }), last);
    expect(asked).toEqual([last]);
  } finally {
    await close();
  }
});

test.runIf(browser)("<player-inbox> shows the folder that was asked for last", async () => {
  const propertyId = service.tenant.id;
  const call = (name: string, input: object) => service.call(name, input, propertyId);
  const home = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { id } = await call("create_player", { player_id: "quick", first_name: "Ida" });
  await addMessage(id, "Im Postfach");
  const { token } = await call("create_subject_token", { playerId: id, to: "inbox" });
  const { page, close } = await openTab(browser!, { width: 360, height: 780, dark: false }, home);
  try {
    await page.goto(home);
    const inbox = page.locator("player-inbox");
    await inbox.evaluate((one, text) => one.setAttribute("token", text), token);
    const pin = inbox.getByRole("button", { name: "Anheften" });
    await pin.waitFor();
    // The answer to the pin comes when the player looks at the archive.
    let answer = () => {};
    const looked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route("**/player/inbox/mark", async (route) => {
      await looked;
      await route.continue();
    });
    await pin.click();
    await inbox.getByRole("button", { name: "Archiviert", exact: true }).click();
    const empty = inbox.getByText("Nichts archiviert");
    await empty.waitFor();
    const marked = page.waitForResponse("**/player/inbox/mark");
    answer();
    await (await marked).finished();
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
    expect(await inbox.locator("li").count()).toBe(0);
  } finally {
    await close();
  }
});

async function addMessage(playerId: string, title: string, at = "2026-03-01T12:00:00Z"): Promise<void> {
  const propertyId = service.tenant.id;
  await service.database.db.asProperty(
    propertyId,
    (sql) => sql`
      insert into inbox_messages (property_id, id, player_id, title, body, delivered_at)
      values (${propertyId}, ${randomUUID()}, ${playerId}, ${title}, 'Text', ${at})`,
  );
}
