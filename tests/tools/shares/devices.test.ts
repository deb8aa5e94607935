import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade, HALF } from "../games/arcade.ts";

let service: TestService;
let place: Arcade;
let game: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
  await place.call("set_property_theme", { join_url: "https://azure.example/join" });
  game = await place.game(HALF, { share_reward: {} });
});
afterAll(() => service?.stop());

const PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1";

/** A browser with its cookies. `refuses`: it keeps none. */
function browser({ agent = PHONE, refuses = false } = {}) {
  const jar: Record<string, string> = {};
  return {
    jar,
    async open(url: string, headers: Record<string, string> = {}) {
      const cookie = Object.entries(jar).map((pair) => pair.join("="));
      const answer = await fetch(url.replace(service.internals.config.baseUrl, service.baseUrl), {
        headers: { "user-agent": agent, ...(cookie.length > 0 && { cookie: cookie.join("; ") }), ...headers },
        redirect: "manual",
      });
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(answer.headers.get("set-cookie") ?? "") ?? [];
      if (name && value && !refuses) jar[name] = value;
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    },
    /** Opens a shared link and presses its button: the parameters that the casino's page gets. */
    async follow(url: string) {
      const { text } = await this.open(url);
      const [, way] = /<a class="button" href="([^"]+)"/.exec(text)!;
      return Object.fromEntries(new URL(way!.replaceAll("&amp;", "&")).searchParams);
    },
  };
}

const share = async (playerId: string) =>
  (
    await place.call("create_share_link", {
      ...{ playerId, propertyId: place.id, network: "x", contentType: "game", contentId: game },
    })
  ).share;
const own = async (playerId: string, to = "game") =>
  (await place.call("create_player_link", { playerId, to })).url;
/** The casino's own page after a sign-up with the parameters that it got. */
const join = async ({ share: shareId, device }: Record<string, string>, joined?: string) =>
  place.call("record_referral", {
    ...{ shareId, playerId: joined ?? (await place.player()), propertyId: place.id },
    ...(device !== undefined && { device }),
  });
const devicesOf = (playerId: string) =>
  place.query(
    (sql) => sql<{ hash: string }[]>`
      select encode(device_hash, 'hex') as hash from player_devices
      where property_id = ${place.id} and player_id = ${playerId}`,
  );

describe("a referral", () => {
  test("is not counted for a person who joins in a browser of the sharer, and is in another browser", async () => {
    const sharer = await place.player();
    const { share_url } = await share(sharer);
    const [phone, friends] = [browser(), browser()];
    await phone.open(await own(sharer));
    expect(await join(await phone.follow(share_url))).toMatchObject({
      ...{ counted: false, reason: "own_device", tickets: 0 },
    });
    expect(await join(await friends.follow(share_url))).toMatchObject({ counted: true, tickets: 1 });
  });

  test("is not counted for a person who has opened their own page in a browser of the sharer", async () => {
    const [sharer, twin] = [await place.player(), await place.player()];
    const link = await share(sharer);
    const household = browser();
    for (const player of [sharer, twin]) await household.open(await own(player, "inbox"));
    await place.play(game, twin);
    expect(await join({ share: link.id }, twin)).toMatchObject({ counted: false, reason: "own_device" });
  });

  test("goes by the address alone where a browser keeps no cookie", async () => {
    const sharer = await place.player({ email: "sharer@example.com" });
    const { share_url } = await share(sharer);
    const phone = browser({ refuses: true });
    await phone.open(await own(sharer));
    const twin = await place.player({ email: "sharer@example.com" });
    expect(await join(await phone.follow(share_url), twin)).toMatchObject({ reason: "own_address" });
    expect(await join(await phone.follow(share_url))).toMatchObject({ counted: true });
  });

  test("learns nothing from a forged cookie or mark but another browser, and refuses a malformed mark", async () => {
    const sharer = await place.player();
    const { share_url, id } = await share(sharer);
    for (const name of ["", "x", "a".repeat(5000), "' or 1=1 --", `${"a".repeat(21)}é`]) {
      const forged = browser();
      forged.jar.device = encodeURIComponent(name);
      const answer = await forged.open(await own(sharer));
      expect(answer.status).toBe(200);
      expect(forged.jar.device).toMatch(/^[\w-]{22}$/);
    }
    const phone = browser();
    await phone.open(await own(sharer));
    const known = phone.jar.device;
    expect(known).toMatch(/^[\w-]{22}$/);
    // The name itself is no mark, and the mark behind another link is none behind this one.
    expect(await join({ share: id, device: known! })).toMatchObject({ counted: true });
    const other = await share(await place.player());
    const { device } = await phone.follow(other.share_url);
    expect(await join({ share: id, device: device! })).toMatchObject({ counted: true });
    await expect(join({ share: id, device: "x" })).rejects.toMatchObject({ code: "invalid" });
    expect(await join(await phone.follow(share_url))).toMatchObject({ reason: "own_device" });
  });
});

describe("the cookie of a browser", () => {
  test("is for our host alone, is no script's, and ends", async () => {
    const sharer = await place.player();
    const { share_url } = await share(sharer);
    for (const url of [share_url, await own(sharer), await own(sharer, "inbox")]) {
      const { headers } = await browser().open(url);
      expect(headers.get("set-cookie")).toMatch(
        /^device=[\w-]{22}; Max-Age=15552000; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      expect(headers.get("cache-control")).toBe("no-store");
    }
    const safe = await startService(
      { role: "web", baseUrl: "https://play.example" },
      { database: service.database },
    );
    const path = new URL(await own(sharer)).pathname;
    const answer = await fetch(`${safe.baseUrl}${path}`, { headers: { "user-agent": PHONE } });
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-device=[\w-]{22}; .*HttpOnly; Secure; SameSite=Lax$/,
    );
    await safe.running.stop();
  });

  test("is not set where it is not needed: by other pages, for programs, without tracking or shared links", async () => {
    const sharer = await place.player();
    const { share_url } = await share(sharer);
    const { token } = await place.call("create_subject_token", { playerId: sharer, to: "inbox" });
    const crawler = browser({ agent: "facebookexternalhit/1.1" });
    const answers = [
      await browser().open(await own(sharer, "preferences")),
      await browser().open(await own(sharer, "push")),
      await browser().open(`${service.baseUrl}/player/inbox`, { authorization: `Bearer ${token}` }),
      await browser().open(`${service.baseUrl}/games/nothing`),
      await crawler.open(share_url),
      await crawler.open(await own(sharer)),
    ];
    expect(answers.map(({ headers }) => headers.get("set-cookie"))).toEqual(answers.map(() => null));
    expect(answers[4]!.text).not.toContain("device=");
    expect(await devicesOf(sharer)).toEqual([]);

    const quiet = await arcade(service);
    const link = async (id: string) =>
      (await quiet.call("create_player_link", { playerId: id, to: "game" })).url;
    const player = await quiet.player();
    expect((await browser().open(await link(player))).headers.get("set-cookie")).toBeNull();
    const shared = await quiet.call("create_share_link", {
      ...{ playerId: player, propertyId: quiet.id, network: "x", contentType: "offer", contentId: "Brunch" },
    });
    // The page leads nowhere, so nobody joins by it.
    expect((await browser().open(shared.share.share_url)).headers.get("set-cookie")).toBeNull();
    await service.call("update_property", { propertyId: quiet.id, tracking: "off" }, quiet.id);
    expect((await browser().open(await link(player))).headers.get("set-cookie")).toBeNull();
  });

  test("is stored as a hash that two properties do not share, at most 20 for a player", async () => {
    const other = await arcade(service);
    const [here, there] = [await place.player(), await other.player()];
    await share(here);
    await other.call("create_share_link", {
      ...{ playerId: there, propertyId: other.id, network: "x", contentType: "offer", contentId: "Brunch" },
    });
    const phone = browser();
    const url = await own(here);
    await phone.open(url);
    await phone.open(url);
    await phone.open((await other.call("create_player_link", { playerId: there, to: "game" })).url);
    const [mine, ...more] = await devicesOf(here);
    expect(more).toEqual([]);
    const [theirs] = await other.query(
      (sql) => sql<{ hash: string }[]>`
        select encode(device_hash, 'hex') as hash from player_devices where property_id = ${other.id}`,
    );
    expect(theirs!.hash).not.toBe(mine!.hash);
    for (let count = 0; count < 22; count += 1) await browser({ refuses: true }).open(url);
    expect(await devicesOf(here)).toHaveLength(20);
  });

  test("is exported, merged and erased with its player, and forgotten when it was not seen for half a year", async () => {
    const [kept, double, idle] = [await place.player(), await place.player(), await place.player()];
    await share(kept);
    const [phone, tablet] = [browser(), browser()];
    await phone.open(await own(kept));
    for (const one of [phone, tablet]) await one.open(await own(double));
    await phone.open(await own(idle));
    await place.call("merge_players", { playerId: kept, duplicateId: double, propertyId: place.id });
    expect(await devicesOf(kept)).toHaveLength(2);
    const { devices } = await place.call("data_export", { playerId: kept, propertyId: place.id });
    expect(devices).toHaveLength(2);
    expect(Object.keys(devices[0]).sort()).toEqual(["created_at", "player_id", "updated_at"]);
    await place.call("data_deletion", { playerId: kept, propertyId: place.id });
    expect(await devicesOf(kept)).toEqual([]);
    await place.query(
      (sql) => sql`
        update player_devices set updated_at = timestamptz '2020-01-01' where property_id = ${place.id}
          and player_id = ${idle}`,
    );
    await service.database.db.asSystem(
      (sql) =>
        sql`update queue set run_at = now() where name = 'forget_devices' and property_id = ${place.id}`,
    );
    await place.work({ only: "forget_devices" });
    expect(await devicesOf(idle)).toEqual([]);
  });
});
