import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { signLink } from "#runtime/secrets/links.ts";
import { newScenario, type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

const PERSON =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
const APPLE = "Mozilla/5.0";

let service: TestService;
let scenario: Scenario;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
});

const HTML =
  '<p>Hi</p><a href="https://play.example/a?x=1&amp;y=2">A</a> <a href="https://play.example/b">B</a> <a href="https://play.example/p/{{ player.player_id }}">C</a> <a href="mailto:host@casino.example">D</a>';

interface Message {
  id: string;
  html: string;
  text: string;
  clicks: string[];
  open: string | undefined;
}

/** One sent message of a campaign, a minute old so that a person may have read it. */
async function sent(
  fields: object = {},
  settings: { fresh?: boolean } = {},
): Promise<Message & { campaign: string }> {
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const campaign = await scenario.campaign({ body_html: HTML, ...fields });
  await scenario.send(campaign);
  await service.idle();
  if (!settings.fresh) {
    await scenario.query((sql) => sql`update campaign_sends set sent_at = now() - interval '1 minute'`);
  }
  const [message] = await scenario.mailbox();
  const { id, html, text } = message!;
  return { campaign, id, html, text, ...pathsOf(html) };
}

/** The addresses of a message's links, and of its picture. */
function pathsOf(html: string): Pick<Message, "clicks" | "open"> {
  const paths = (letter: string) =>
    Array.from(html.matchAll(new RegExp(`"[^"]*(/${letter}/[^"]+)"`, "g")), ([, path]) => path!);
  return { clicks: paths("c"), open: paths("o")[0] };
}

const visit = (path: string, userAgent = PERSON, method = "GET") =>
  fetch(`${service.baseUrl}${path}`, { method, redirect: "manual", headers: { "user-agent": userAgent } });

/** Sets it, and waits until the process knows: it may keep a property for a second. */
async function track(tracking: "on" | "off"): Promise<void> {
  await scenario.call("update_property", { propertyId: scenario.id, tracking });
  const known = () => service.internals.directory.property(scenario.id);
  await expect.poll(async () => (await known())?.tracking).toBe(tracking);
}

async function send(id: string) {
  const [row] = await scenario.query(
    (sql) => sql`
    select opens, clicks, opened_at is not null as opened, first_human_open_at is not null as opened_by_person,
      clicked_at is not null as clicked, first_human_click_at is not null as clicked_by_person
    from campaign_sends where property_id = ${scenario.id} and id = ${id}`,
  );
  return row!;
}

describe("a campaign's links", () => {
  test("lead through us to where they led, and stay as they were in the text", async () => {
    const message = await sent();
    expect(message.clicks).toHaveLength(3);
    expect(message.html).toContain('href="mailto:host@casino.example"');
    expect(message.html).not.toContain("play.example");
    expect(message.text).toContain("https://play.example/a?x=1&y=2");
    const led = [];
    for (const path of message.clicks) {
      const { status, headers } = await visit(path);
      led.push([status, headers.get("location")]);
    }
    expect(led).toEqual([
      [302, "https://play.example/a?x=1&y=2"],
      [302, "https://play.example/b"],
      [302, "https://play.example/p/ana"],
    ]);
    const unsubscribe = /href="[^"]*(\/u\/[^"]+)"/.exec(message.html)![1]!;
    expect((await visit(unsubscribe)).status).toBe(200);
  });

  test("carry the campaign's utm parameters", async () => {
    const { clicks } = await sent({ utm: { source: "mail", campaign: "week 47" } });
    const { headers } = await visit(clicks[1]!);
    expect(headers.get("location")).toBe("https://play.example/b?utm_source=mail&utm_campaign=week%2047");
  });

  test("are left alone in a property that does not track, but for utm parameters", async () => {
    await track("off");
    const plain = await sent();
    expect(plain.html).toContain('href="https://play.example/a?x=1&amp;y=2"');
    expect([plain.clicks, plain.open]).toEqual([[], undefined]);
    const campaign = await scenario.campaign({ body_html: HTML, utm: { source: "mail" } });
    await scenario.send(campaign);
    await service.idle();
    const marked = (await scenario.mailbox()).find(({ id }) => id !== plain.id)!;
    expect(marked.html).toContain('href="https://play.example/a?x=1&#38;y=2&#38;utm_source=mail"');
    expect(marked.html).toContain('href="https://play.example/p/ana?utm_source=mail"');
    expect(marked.html).not.toContain("/o/");
  });

  test("that went out before a property stopped tracking lead on, and count nothing", async () => {
    const { id, clicks, open } = await sent();
    await track("off");
    await visit(open!);
    expect((await visit(clicks[1]!)).headers.get("location")).toBe("https://play.example/b");
    await track("on");
    await visit(clicks[1]!);
    await visit(open!);
    await expect.poll(() => send(id)).toMatchObject({ opens: 1, clicks: 1 });
  });

  test("that nobody signed lead nowhere, and the picture comes all the same", async () => {
    const { clicks, open } = await sent();
    const secret = Buffer.from("another secret of some thirty-two bytes");
    const forged = signLink(secret, "click", {
      p: scenario.id,
      s: scenario.id,
      l: scenario.id,
      u: "https://evil.example",
    });
    const stolen = clicks[0]!.replace("/c/", "/o/");
    for (const path of [
      `/c/${forged}`,
      "/c/x",
      "/c/%00",
      `/c/${"a".repeat(5000)}`,
      open!.replace("/o/", "/c/"),
      `${clicks[0]!.slice(0, -2)}AA`,
    ]) {
      const answer = await visit(path);
      expect(answer.status, path).toBe(404);
      expect(answer.headers.get("content-type"), path).toContain("text/html");
    }
    for (const path of ["/o/x", "/o/%E0%A4%A", stolen]) {
      const answer = await visit(path);
      expect([answer.status, answer.headers.get("content-type")], path).toEqual([200, "image/gif"]);
    }
  });
});

describe("clicks and opens", () => {
  test("of a person are counted, and told to who asked", async () => {
    await scenario.call("create_webhook_endpoint", {
      url: "https://crm.example.com/hooks",
      events: ["campaign.*"],
    });
    const { id, clicks, open } = await sent();
    await visit(open!);
    await visit(open!);
    await visit(clicks[0]!);
    await visit(clicks[0]!);
    await expect
      .poll(() => send(id))
      .toEqual({
        opens: 2,
        clicks: 2,
        opened: true,
        opened_by_person: true,
        clicked: true,
        clicked_by_person: true,
      });
    const events = await scenario.query(
      (sql) => sql`
      select type, data -> 'object' ->> 'machine' as machine from outbox
      where property_id = ${scenario.id} and type in ('campaign.message_opened', 'campaign.message_clicked') order by type`,
    );
    expect([...events]).toEqual([
      { type: "campaign.message_clicked", machine: "false" },
      { type: "campaign.message_opened", machine: "false" },
    ]);
  });

  test("of machines are told apart, each by its own sign, and change no consent", async () => {
    const machines = [
      ["Apple's privacy protection", APPLE, "GET"],
      [
        "Gmail's proxy",
        "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
        "GET",
      ],
      ["a bot", "curl/8.1", "GET"],
      ["a check of the address", PERSON, "HEAD"],
    ] as const;
    for (const index of machines.keys()) {
      await scenario.player({ player_id: `p${index}`, email: `p${index}@example.com` });
    }
    await scenario.send(await scenario.campaign({ body_html: HTML }));
    await service.idle();
    await scenario.query((sql) => sql`update campaign_sends set sent_at = now() - interval '1 minute'`);
    const messages = (await scenario.mailbox()).map(({ id, html }) => ({ id, ...pathsOf(html) }));
    const each = Array.from(messages, (message, index) => [...machines[index]!, message] as const);
    expect(each).toHaveLength(machines.length);
    for (const [name, userAgent, method, { clicks, open }] of each) {
      await visit(open!, userAgent, method);
      expect((await visit(clicks[0]!, userAgent, method)).status, name).toBe(302);
    }
    for (const [name, , , { id }] of each) {
      await expect
        .poll(() => send(id), { message: name })
        .toEqual({
          opens: 1,
          clicks: 1,
          opened: true,
          opened_by_person: false,
          clicked: true,
          clicked_by_person: false,
        });
    }
    for (const [, , , { clicks, open }] of each) {
      await visit(open!);
      await visit(clicks[0]!);
    }
    for (const [name, , , { id }] of each) {
      await expect
        .poll(() => send(id), { message: name })
        .toMatchObject({ opens: 2, clicks: 2, opened_by_person: true, clicked_by_person: true });
    }
    const rows = await scenario.query(
      (sql) => sql`select action from consent_records where property_id = ${scenario.id}`,
    );
    expect(rows.map(({ action }) => action)).toEqual(machines.map(() => "granted"));
  });

  test("within seconds of the sending are a filter's", async () => {
    const { id, clicks, open } = await sent({}, { fresh: true });
    await visit(open!);
    await visit(clicks[0]!);
    await expect
      .poll(() => send(id))
      .toMatchObject({
        opens: 1,
        clicks: 1,
        opened_by_person: false,
        clicked_by_person: false,
      });
  });

  test("of several links within a second are a scanner's, under any name", async () => {
    const { id, clicks } = await sent();
    await Promise.all(clicks.map((path) => visit(path)));
    expect(await send(id)).toMatchObject({ clicks: 3, clicked: true, clicked_by_person: false });
    await scenario.query(
      (sql) => sql`update campaign_clicks set last_clicked_at = now() - interval '1 minute'`,
    );
    await visit(clicks[1]!);
    expect(await send(id)).toMatchObject({ clicks: 4, clicked_by_person: true });
  });

  test("of one link by many at once are all counted, in one row", async () => {
    const { id, clicks } = await sent();
    await Promise.all(Array.from({ length: 100 }, () => visit(clicks[0]!)));
    expect(await send(id)).toMatchObject({ clicks: 100 });
    const [row] = await scenario.query(
      (sql) =>
        sql`select count(*)::int as rows, sum(clicks)::int as clicks from campaign_clicks where property_id = ${scenario.id}`,
    );
    expect(row).toEqual({ rows: 1, clicks: 100 });
  });

  test("of someone who was erased are not recorded, and the link still leads on", async () => {
    const { id, clicks, open } = await sent();
    await scenario.query(
      (sql) => sql`update campaign_sends set player_id = null where property_id = ${scenario.id}`,
    );
    await visit(open!);
    expect((await visit(clicks[0]!)).headers.get("location")).toBe("https://play.example/a?x=1&y=2");
    expect((await visit(clicks[2]!)).headers.get("location")).toBe("https://play.example/p/ana");
    expect(await send(id)).toMatchObject({ opens: 0, clicks: 0, clicked: false });
  });

  test("are written when the service stops", async () => {
    const other = await startService();
    try {
      const there = scenarioIn(other);
      await there.player({ player_id: "ana", email: "ana@example.com" });
      await there.send(await there.campaign({ body_html: HTML }));
      await other.idle();
      const [message] = await there.mailbox();
      const path = /"[^"]*(\/o\/[^"]+)"/.exec(message!.html)![1]!;
      await fetch(`${other.baseUrl}${path}`);
      await other.running.stop();
      const again = await sendsIn(other);
      expect(again).toEqual([{ opens: 1 }]);
    } finally {
      await other.database.drop();
    }
  });
});

/** Rows of the database of a stopped service. */
async function sendsIn({ database }: TestService): Promise<unknown[]> {
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  const rows = await admin`select opens from campaign_sends`;
  await admin.end();
  return [...rows];
}
