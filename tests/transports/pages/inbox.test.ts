import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { playerToken } from "#tools/player-links/links.ts";
import { shifted } from "../../support/database.ts";
import { type Casino, FREE_PLAY, openCasino } from "./casino.ts";

let casino: Casino;
let freePlay: string;
beforeAll(async () => {
  casino = await openCasino();
  freePlay = await casino.send(FREE_PLAY);
  await casino.send({ subject: "Sunday brunch", inbox: { category: "Dining" } });
});
afterAll(() => casino?.service.stop());

/** A request as a browser makes it. */
const visit = async (url: string, options: RequestInit = {}) => {
  const answer = await fetch(url, {
    redirect: "manual",
    ...options,
    headers: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0", ...options.headers },
  });
  return { status: answer.status, html: await answer.text(), headers: answer.headers };
};

const api = async (path: string, token: string, options: RequestInit = {}) => {
  const answer = await fetch(`${casino.service.baseUrl}/player/inbox${path}`, {
    ...options,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...options.headers },
  });
  const text = await answer.text();
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  const body: any = text === "" ? null : JSON.parse(text);
  return { status: answer.status, body, headers: answer.headers };
};

const mark = (token: string, ids: string[], name: string, more: object = {}) =>
  api("/mark", token, { method: "POST", body: JSON.stringify({ ids, mark: name, ...more }) });

const newPlayer = async (name: string): Promise<string> =>
  (
    await casino.service.call(
      "create_player",
      { player_id: name, first_name: name },
      casino.service.tenant.id,
    )
  ).id;

const stats = (campaignId: string) =>
  casino.service.call(
    "campaign_stats",
    { campaignId, propertyId: casino.service.tenant.id },
    casino.service.tenant.id,
  );

test("the last page that anybody can turn to leads no further", async () => {
  const { service } = casino;
  const playerId = await newPlayer("hoarder");
  const propertyId = service.tenant.id;
  await service.database.db.asProperty(
    propertyId,
    (sql) => sql`
      insert into inbox_messages (property_id, id, player_id, title, body)
      select ${propertyId}, uuid_v7(), ${playerId}, 'Message ' || n, 'Text' from generate_series(1, 2001) n
      returning 1`,
  );
  const token = await casino.token(playerId);
  expect((await api("?page=99", token)).body).toMatchObject({ more: true, unread: 2001 });
  expect((await api("?page=100", token)).body).toMatchObject({ more: false });
  expect((await visit(`${await casino.link("inbox", playerId)}?page=100`)).html).not.toContain("page=101");
});

describe("the page", () => {
  test("lists messages, opens one with its offer, and counts it as read", async () => {
    const { status, html, headers } = await visit(casino.inbox);
    expect(status).toBe(200);
    expect(html).toContain("Ana, $25 free play is yours");
    expect(html).toContain("2 new");
    expect(headers.get("content-security-policy")).toMatch(
      /default-src 'none'; script-src 'self'.*require-trusted-types-for/,
    );
    expect(headers.get("set-cookie")).toBeNull();
    const id = /href="[^"]*\/([0-9a-f-]{36})">Ana/.exec(html)![1];
    const message = await visit(`${casino.inbox}/${id}`);
    for (const text of ["GOLD-7731", "Free play", "Reserve a seat", "Valid until"])
      expect(message.html).toContain(text);
    expect((await visit(casino.inbox)).html).toContain("1 new");
    const click = await visit(`${casino.inbox}/${id}/open`);
    expect([click.status, click.headers.get("location")]).toEqual([
      302,
      "https://demo-casino.example/seats?tier=Gold",
    ]);
    expect(await stats(freePlay)).toMatchObject({
      opens_unique: 1,
      opens_human: 1,
      clicks_unique: 1,
      clicks_human: 1,
      sent: 1,
      inbox: { seen: 1, read: 1, clicked: 1, archived: 0 },
    });
    const events = await casino.service.database.db.asProperty(
      casino.service.tenant.id,
      (sql) =>
        sql`select read_at, clicked_at, seen_at from inbox_messages where property_id = ${casino.service.tenant.id} and id = ${id}`,
    );
    expect(events[0]).toMatchObject({
      read_at: expect.any(String),
      clicked_at: expect.any(String),
      seen_at: expect.any(String),
    });
  });

  test("pins and archives by forms alone, and stays below 40 kB with a full page", async () => {
    const guest = await newPlayer("collector");
    const token = await casino.token(guest);
    for (let count = 0; count < 22; count += 1) {
      await casino.start({
        subject: `News ${count} ${"of the house ".repeat(6)}`,
        body_text: "A long text about the house. ".repeat(30),
        conditions: [{ field: "player_id", operator: "eq", value: "collector" }],
        audience: null,
        inbox: FREE_PLAY.inbox,
      });
    }
    await casino.service.idle();
    const link = await casino.link("inbox", guest);
    const { html } = await visit(link);
    expect(Buffer.byteLength(html)).toBeLessThan(40_960);
    expect(html).toContain("Older messages");
    const older = await visit(`${link}?page=2`);
    expect(older.html.match(/<li /g)).toHaveLength(2);
    const [first] = (await api("", token)).body.items;
    const post = (body: string) =>
      visit(`${link}/${first.id}`, {
        method: "POST",
        body,
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
    expect((await post("mark=archived&from=list&folder=inbox")).status).toBe(303);
    expect((await visit(`${link}?folder=archive`)).html).toContain(first.id);
    expect((await post("mark=restored&from=list&folder=archive")).status).toBe(303);
    expect((await post("mark=pinned&from=message")).headers.get("location")).toContain(first.id);
    expect((await api("", token)).body.items[0]).toMatchObject({ id: first.id, pinned: true });
    expect((await post("mark=clicked")).status).toBe(400);
  });

  test("counts a message that is archived from the list as seen and opened, and not as read", async () => {
    const token = await casino.token(await newPlayer("tidy"));
    const conditions = [{ field: "player_id", operator: "eq", value: "tidy" }];
    const campaign = await casino.send({ subject: "Away with it", audience: null, conditions });
    const { items } = (await api("", token)).body;
    for (let twice = 0; twice < 2; twice += 1) await mark(token, [items[0].id], "archived");
    expect(await stats(campaign)).toMatchObject({
      opens_total: 1,
      opens_human: 1,
      clicks_unique: 0,
      inbox: { seen: 1, read: 0, clicked: 0, archived: 1 },
    });
  });

  test("speaks the player's language, and the browser's where that is unknown", async () => {
    const { service } = casino;
    const { id } = await service.call(
      "create_player",
      { player_id: "hans", language: "de-CH" },
      service.tenant.id,
    );
    expect((await visit(await casino.link("inbox", id))).html).toContain('<html lang="de">');
    const stranger = await visit(await casino.link("inbox", await newPlayer("mute")), {
      headers: { "accept-language": "pt-BR, zh-CN;q=0.8, fr;q=0.7" },
    });
    expect(stranger.html).toContain("收件箱");
  });
});

describe("the casino's app", () => {
  test("gets items and counts with each read and write, and 304 while nothing changes", async () => {
    const token = await casino.token(await newPlayer("app"));
    await casino.send({ subject: "To the app", body_text: "Hello." });
    const { body, headers } = await api("", token);
    expect(body).toMatchObject({ unseen: 1, unread: 1, more: false, items: [{ title: "To the app" }] });
    const etag = headers.get("etag")!;
    expect(etag).toBe(`"${body.etag}"`);
    expect((await api("", token, { headers: { "if-none-match": etag } })).status).toBe(304);
    const id = body.items[0].id;
    const seen = await mark(token, [id], "seen");
    expect(seen.body).toMatchObject({
      unseen: 0,
      unread: 1,
      items: [{ id, seen_at: expect.any(String), read_at: null }],
    });
    expect((await api("", token, { headers: { "if-none-match": etag } })).status).toBe(200);
    expect((await mark(token, [id], "read")).body).toMatchObject({ unseen: 0, unread: 0 });
    expect((await mark(token, [id], "read")).body.items[0].read_at).toBe(
      (await api("", token)).body.items[0].read_at,
    );
    expect((await mark(token, [id], "archived")).body).toMatchObject({ items: [] });
    expect((await api("?folder=archive", token)).body.items).toHaveLength(1);
    expect((await api(`/${id}`, token)).body.items).toHaveLength(1);
  });

  test("tells the badge by events as it changes", async () => {
    const token = await casino.token(await newPlayer("listener"));
    const stop = new AbortController();
    const answer = await fetch(`${casino.service.baseUrl}/player/inbox/badge`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('event: badge\ndata: {"unseen":0,"unread":0}\n\n');
    await casino.send({ subject: "Ding" });
    expect((await reader.read()).value).toBe('event: badge\ndata: {"unseen":1,"unread":1}\n\n');
    stop.abort();
  });

  test("emits player.inbox_read once, at the first reading", async () => {
    const { service } = casino;
    await service.call(
      "create_webhook_endpoint",
      { url: "https://example.com/hook", events: ["player.inbox_read"] },
      service.tenant.id,
    );
    const player = await newPlayer("reader");
    const token = await casino.token(player);
    await casino.send({ subject: "Read me" });
    const { id } = (await api("", token)).body.items[0];
    for (const name of ["seen", "read", "read", "clicked"]) await mark(token, [id], name);
    const events = await service.database.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        select id from outbox where property_id = ${service.tenant.id} and type = 'player.inbox_read'`,
    );
    expect(events).toHaveLength(1);
  });
});

describe("expiry", () => {
  test("an expired message is gone, and an expired offer keeps its code", async () => {
    const token = await casino.token(await newPlayer("late"));
    await casino.send({ subject: "Short offer", inbox: FREE_PLAY.inbox });
    await casino.send({ subject: "Short message", inbox: { expires_after_days: 1 } });
    const { body } = await api("", token);
    expect(body.items[1].offer).toMatchObject({ code: "GOLD-7731", expired: false });
    const { db } = casino.service.database;
    const propertyId = casino.service.tenant.id;
    await db.asProperty(propertyId, async (sql) => {
      await sql`
        update inbox_messages set expires_at = ${shifted("expires_at", "-2 days")},
          offer = offer || '{"expires_at": "2020-01-01T00:00:00Z"}'
        where property_id = ${propertyId} and title like 'Short%'`;
    });
    const after = await api("", token);
    expect(after.body).toMatchObject({ unread: 1, items: [{ offer: { code: null, expired: true } }] });
    expect((await api(`/${body.items[0].id}`, token)).status).toBe(404);
    expect((await mark(token, [body.items[0].id], "read")).status).toBe(404);
  });
});

describe("a stranger", () => {
  test("learns nothing by another player's message, a changed token or another purpose", async () => {
    const thief = await newPlayer("thief");
    const token = await casino.token(thief);
    const { body } = await api("", await casino.token());
    const theirs = body.items[0].id;
    const unknown = "01900000-0000-7000-8000-000000000000";
    for (const id of [theirs, unknown]) {
      expect((await api(`/${id}`, token)).status).toBe(404);
      expect((await mark(token, [id], "read")).status).toBe(404);
    }
    const refusals = await Promise.all([theirs, unknown].map((id) => mark(token, [id], "archived")));
    expect(refusals[0]!.body).toEqual(refusals[1]!.body);
    const asOther = await mark(token, [theirs], "read", { playerId: casino.playerId });
    expect(asOther.status).toBe(404);
    expect((await mark(token, [theirs], "read", { player_id: casino.playerId })).status).toBe(400);
    expect((await mark(token, [theirs], "read", { propertyId: casino.service.tenant.id })).status).toBe(404);
    const link = new URL(await casino.link("inbox", thief));
    const changed = link.href.replace(/.(?=\.[\w-]+$)/, (one) => (one === "A" ? "B" : "A"));
    expect((await visit(changed)).status).toBe(404);
    expect((await visit(`${link.href}/${theirs}`)).html).toContain("This message is not here");
    const preferences = await casino.link("preferences", thief);
    expect((await visit(preferences.replace("/preferences/", "/inbox/"))).status).toBe(404);
    expect((await visit(link.href.replace("/inbox/", "/preferences/"))).status).toBe(404);
    expect((await api("", token.slice(0, -2))).status).toBe(401);
    expect((await api("", casino.service.tenant.key)).status).toBe(401);
  });

  test("of another property sees nothing, and cannot make a link to a player here", async () => {
    const { service } = casino;
    const rival = await service.newTenant();
    const rivalCall = (name: string, input: object) =>
      service.post(`/api/functions/${name}`, { propertyId: rival.id, ...input }, { "X-Api-Key": rival.key });
    expect((await rivalCall("create-player-link", { playerId: casino.playerId, to: "inbox" })).status).toBe(
      404,
    );
    expect((await rivalCall("create-subject-token", { playerId: casino.playerId, to: "inbox" })).status).toBe(
      404,
    );
    const { id } = await service.call("create_player", { player_id: "theirs" }, rival.id);
    const { body } = await rivalCall("create-subject-token", { playerId: id, to: "inbox" });
    expect((await api("", body.token)).body).toMatchObject({ items: [], unread: 0 });
    const theirs = (await api("", await casino.token())).body.items[0].id;
    expect((await api(`/${theirs}`, body.token)).status).toBe(404);
  });

  test("with a key that sees no names gets no link to a page that shows them", async () => {
    const propertyId = casino.service.tenant.id;
    for (const operation of ["create_player_link", "create_subject_token"]) {
      const input = { playerId: casino.playerId, to: "inbox", propertyId };
      const refused = casino.service.call(operation, input, propertyId, { masked: true });
      await expect(refused).rejects.toMatchObject({ code: "forbidden" });
    }
  });

  test("gets no page by a link whose time is over", async () => {
    const { service } = casino;
    const { config, directory } = service.internals;
    const about = { propertyId: service.tenant.id, playerId: await newPlayer("slow") };
    const now = Math.floor(directory.now() / 1000);
    const linkUntil = (until: number) =>
      `${service.baseUrl}/inbox/${playerToken(config, "inbox", { ...about, until })}`;
    expect((await visit(linkUntil(now + 60))).status).toBe(200);
    expect((await visit(linkUntil(now - 1))).status).toBe(404);
  });
});

describe("a message's own link", () => {
  test("opens the inbox of its player, and ends with erasure and self-exclusion", async () => {
    const { service } = casino;
    const propertyId = service.tenant.id;
    for (const [name, end] of [
      ["excluded", (id: string) => service.call("create_self_exclusion", { player_id: id }, propertyId)],
      ["erased", (id: string) => service.call("data_deletion", { propertyId, playerId: id }, propertyId)],
    ] as const) {
      const { id } = await service.call(
        "create_player",
        { player_id: name, first_name: name, email: `${name}@example.com` },
        propertyId,
      );
      await service.call(
        "consent_record",
        {
          ...{ propertyId, playerId: id, channel: "email", consentGiven: true, consentSource: "desk" },
          ...{ consentVersion: "1", occurredAt: new Date().toISOString() },
        },
        propertyId,
      );
      const { id: campaignId } = await service.call(
        "create_campaign",
        {
          ...{ name, channel: "email", subject: "Your inbox", from_email: "a@example.com" },
          body_html:
            '<p><a href="{{ inbox_url }}">Open your inbox</a> <b>{{ inbox_url }}</b> <i>{{ game_url }}</i></p>',
          conditions: [{ field: "player_id", operator: "eq", value: name }],
        },
        propertyId,
      );
      await service.call("send_campaign", { propertyId, campaignId }, propertyId);
      await service.idle();
      const [mail] = await service.database.db.asProperty(
        propertyId,
        (sql) =>
          sql<
            { html: string }[]
          >`select html from mailbox_messages where property_id = ${propertyId} and recipient = ${`${name}@example.com`}`,
      );
      const written = /<b>([^<]+)<\/b>/.exec(mail!.html)![1]!;
      const game = /<i>([^<]+)<\/i>/.exec(mail!.html)![1]!;
      const links = [
        ...[written, game].map((url) => service.baseUrl + new URL(url).pathname),
        ...[await casino.link("inbox", id), await casino.link("game", id)],
      ];
      const stopping = await casino.link("preferences", id);
      const token = await casino.token(id);
      for (const link of links) expect((await visit(link)).status, name).toBe(200);
      await end(id);
      for (const link of links) expect((await visit(link)).status, name).toBe(404);
      expect((await api("", token)).status).toBe(401);
      expect((await visit(stopping)).status).toBe(name === "excluded" ? 200 : 404);
    }
  });
});
