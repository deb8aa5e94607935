import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { arcadeIn, HALF, SURE } from "../games/arcade.ts";
import { type JourneyClock, journeyClock } from "../journeys/clock.ts";

let service: TestService;
let clock: JourneyClock;
let place: ReturnType<typeof arcadeIn>;
let key: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  clock = await journeyClock(service);
  place = arcadeIn(clock.scenario);
  key = (await service.call("create_api_key", { property_id: place.id, name: "agent" })).api_key;
});
afterAll(() => service?.stop());

const agent = (name: string, input: object) =>
  onceOverMcp(service, CATALOG.operations.get(name)!, { ...input }, { "X-Api-Key": key });
const players = async (journey: string) => (await clock.entries(journey)).map((entry) => entry.player);
const end = { id: "end", type: "exit", config: {} };
const rest = { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 1, unit: "days" } } };
const behind = (config: object) => ({
  nodes: [{ id: "in", type: "trigger", config }, rest, end],
  edges: [
    { from: "in", to: "rest" },
    { from: "rest", to: "end" },
  ],
});

/** A journey for the players of a tier. */
const into = async (name: string) => {
  const { id: segment_id } = await place.call("create_segment", {
    name: `Fits ${name}`,
    conditions: [{ field: "tier", operator: "eq", value: name }],
  });
  return clock.published(behind({ on: "segment_enter", segment_id }), { name });
};

describe("an event that an agent reports", () => {
  test("is asked about with the player and the journey that it opens, and moves nobody before", async () => {
    const definition = behind({ on: "event", event: "big win" });
    const journey = await clock.published(definition, { name: "Congratulate" });
    const id = await place.player({ first_name: "Zoë" });
    const asked = await agent("create_player_event", { player_id: id, name: "big win" });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toMatch(
      /the event "big win"\. By it the player "G\d+", "Zoë" enters .+ "Congratulate"/,
    );
    expect(await players(journey)).toEqual([]);
    expect(await place.call("list_player_events", { filters: { "player_id.eq": id } })).toEqual([]);
    const { confirm_token } = asked.data;
    const done = await agent("create_player_event", { player_id: id, name: "big win", confirm_token });
    expect(done.isError).toBe(false);
    expect(await players(journey)).toHaveLength(1);
  });

  test("that opens nothing, or is known already, is recorded at once, and a program's always", async () => {
    const definition = behind({ on: "event", event: "arrival" });
    const journey = await clock.published(definition, { name: "Welcome" });
    const id = await place.player();
    expect((await agent("create_player_event", { player_id: id, name: "coffee" })).data.name).toBe("coffee");
    const arrival = { player_id: id, name: "arrival", external_id: "a1" };
    await place.call("create_player_event", arrival);
    expect(await players(journey)).toHaveLength(1);
    expect((await agent("create_player_event", arrival)).data).toMatchObject({ external_id: "a1" });
  });

  test("waits for a person above the property's limit, and is the same call when it is approved", async () => {
    const definition = behind({ on: "event", event: "jackpot" });
    const journey = await clock.published(definition, { name: "Jackpot" });
    const id = await place.player();
    await service.call("update_property", { propertyId: place.id, approval_over_players: 0 });
    const input = { player_id: id, name: "jackpot" };
    const { confirm_token } = (await agent("create_player_event", input)).data;
    const { proposal } = (await agent("create_player_event", { ...input, confirm_token })).data as {
      proposal: { id: string };
    };
    expect(await players(journey)).toEqual([]);
    // The casino's own system is not an agent: the journey was published for its events.
    const other = await place.player();
    const sent = await service.post(
      "/api/player_events",
      { player_id: other, name: "jackpot" },
      { "X-Api-Key": key },
    );
    expect(sent.status).toBe(201);
    expect(await players(journey)).toHaveLength(1);
    const manager = await service.signIn({ role: null });
    await service.call("grant_membership", { property_id: place.id, user_id: manager.id, role: "manager" });
    const { shown_hash } = await place.call("get_proposal", { id: proposal.id });
    const approved = await service.post(
      "/api/functions/approve-proposal",
      { proposalId: proposal.id, propertyId: place.id, shownHash: shown_hash },
      { "X-Api-Key": null, Authorization: `Bearer ${manager.token}` },
    );
    expect([approved.status, approved.text]).toEqual([200, expect.anything()]);
    expect(await players(journey)).toHaveLength(2);
    await service.call("update_property", { propertyId: place.id, approval_over_players: null });
  });
});

describe("a change of data that moves a player into a journey", () => {
  test("is asked about with the player and the journey, and changes nothing before", async () => {
    await into("Topaz");
    const id = await place.player({ first_name: "Zoë", tier: "Gold" });
    for (const [moved, name, input] of [
      [0, "update_player", { id, tier: "Topaz" }],
      [1, "create_player", { player_id: "topaz-1", tier: "Topaz" }],
    ] as const) {
      const asked = await agent(name, input);
      expect(asked.data, name).toMatchObject({ confirmation_required: true });
      expect(asked.data.message).toMatch(
        /By it the player "[^"]+".* enters or goes on in the journey "Topaz"/,
      );
      expect(await place.call("list_players", { filters: { "tier.eq": "Topaz" } })).toHaveLength(moved);
      const { confirm_token } = asked.data;
      expect((await agent(name, { ...input, confirm_token })).data).toMatchObject({ tier: "Topaz" });
    }
  });

  test("is asked about where an agent's file brings such players", async () => {
    await into("Opal");
    const rows = [{ player_id: "opal-1", tier: "Opal" }];
    const asked = await agent("create_import_job", { rows });
    expect(asked.data.message).toMatch(/enter the journeys .*"Opal".*, which may write to them/);
    expect((await agent("create_import_job", { rows, dry_run: true })).data).toMatchObject({
      status: "queued",
    });
  });

  test("that moves nobody is made at once, and a program's always", async () => {
    await into("Jade");
    const id = await place.player({ tier: "Gold" });
    expect((await agent("update_player", { id, adt: 7 })).data).toMatchObject({ id, adt: 7 });
    const moved = await service.request("PATCH", `/api/players/${id}`, {
      body: { tier: "Jade" },
      headers: { "X-Api-Key": key },
    });
    expect([moved.status, moved.body.tier]).toEqual([200, "Jade"]);
  });
});

describe("a date by which players enter a journey each year", () => {
  test("is asked about with the player and the journey, and is not set before", async () => {
    await place.call("create_custom_field", { key: "member_since", label: "Member since", type: "date" });
    for (const field of ["birth_date", "custom.member_since"])
      await clock.published(behind({ on: "date_field", field, time: "09:00" }), { name: `By ${field}` });
    const id = await place.player({ first_name: "Zoë" });
    const steps = [
      ["birth_date", "update_player", { id, birth_date: "1980-05-01" }],
      ["custom.member_since", "update_player", { id, custom: { member_since: "2020-02-02" } }],
      ["birth_date", "create_player", { player_id: "may-1", birth_date: "1980-05-01" }],
    ] as const;
    for (const [field, name, input] of steps) {
      const asked = await agent(name, input);
      expect(asked.data, field).toMatchObject({ confirmation_required: true });
      expect(asked.data.message).toContain(`This sets ${field}, a date by which players enter`);
      expect(asked.data.message).toMatch(
        new RegExp(`By it the player "[^"]+".* enters or goes on in the journey "By ${field}"`),
      );
      const { confirm_token } = asked.data;
      expect((await agent(name, { ...input, confirm_token })).isError).toBe(false);
    }
    expect(await place.call("get_player", { id })).toMatchObject({ birth_date: "1980-05-01" });
    const rows = [{ player_id: "may-2", birth_date: "1980-05-01" }];
    const { data } = await agent("create_import_job", { rows });
    expect(data.message).toMatch(/or whose date comes, enter the journeys .*"By birth_date"/);
  });

  test("is set at once where it stays as it is, is taken away, or a program sets it", async () => {
    const id = await place.player({ birth_date: "1980-05-01" });
    expect((await agent("update_player", { id, adt: 7, birth_date: "1980-05-01" })).data).toMatchObject({
      adt: 7,
    });
    const headers = { "X-Api-Key": key };
    const set = await service.request("PATCH", `/api/players/${id}`, {
      body: { birth_date: "1980-05-02" },
      headers,
    });
    expect([set.status, set.body.birth_date]).toEqual([200, "1980-05-02"]);
    expect((await agent("update_player", { id, birth_date: null })).data).toMatchObject({ birth_date: null });
  });
});

describe("a play that an agent makes for a player", () => {
  test("is confirmed first, and no preview shows the draw", async () => {
    const game = await place.game(HALF);
    const playerId = await place.player({ first_name: "Ana" });
    const input = { gameId: game, playerId, propertyId: place.id };
    // Another seed of the agent's own would draw another prize: with the draw in the preview it would try until it wins.
    for (const clientSeed of ["one", "two", "three"]) {
      const { data } = await agent("play_game", { ...input, clientSeed });
      expect(Object.keys(data).sort()).toEqual(
        ["confirm_by", "confirm_token", "confirmation_required", "dry_run", "message"].sort(),
      );
      expect(data.message).toMatch(/Plays "Game \d+" once for the player "G\d+", "Ana"/);
    }
    expect(await place.call("list_game_plays", { filters: { "game_id.eq": game } })).toEqual([]);
    const { confirm_token } = (await agent("play_game", input)).data;
    expect((await agent("play_game", { ...input, confirm_token })).data).toMatchObject({
      outcome: expect.stringMatching(/^(win|lose)$/),
    });
  });

  test("names the journey that it opens", async () => {
    const game = await place.game(SURE);
    await clock.published(behind({ on: "game_play", game_id: game }), { name: "After a play" });
    const playerId = await place.player();
    const { data } = await agent("play_game", { gameId: game, playerId, propertyId: place.id });
    expect(data.message).toContain('"After a play"');
  });
});

describe("a consent that an agent records", () => {
  test("is confirmed with its evidence, and the ledger says that it came over MCP", async () => {
    const playerId = await place.player({ first_name: "Lee", email: "lee@agents.example" });
    const input = {
      propertyId: place.id,
      playerId,
      channel: "email",
      consentGiven: true,
      consentSource: "the desk",
      consentText: "Yes, write to me",
    };
    const asked = await agent("consent_record", input);
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toMatch(/the player "G\d+", "Lee" has agreed to marketing by email/);
    expect(asked.data.message).toContain('at "the desk", to "Yes, write to me"');
    expect((await place.call("get_player", { id: playerId })).consents).toEqual({});
    await agent("consent_record", { ...input, confirm_token: asked.data.confirm_token });
    const [record] = await place.call("list_consent_records", { filters: { "player_id.eq": playerId } });
    expect(record).toMatchObject({ action: "granted", collection_method: "mcp", actor_type: "api_key" });
  });

  test("that is a refusal is recorded at once, where it moves nobody into a journey", async () => {
    await into("Pearl");
    const playerId = await place.player();
    const input = { propertyId: place.id, playerId, channel: "email", consentGiven: false };
    expect((await agent("consent_record", input)).data).toMatchObject({ success: true });
  });

  test("for a file's players is confirmed too, with the file's evidence", async () => {
    const file = {
      csv: "player_id,email,email_opt_in\nF1,f1@agents.example,yes\n",
      mapping: { email_opt_in: "consent.email" },
      mode: "create_only",
      consent: { consentSource: "a fair", consentText: "I agree" },
    };
    const asked = await agent("create_import_job", file);
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain('agreed at "a fair", to "I agree"');
  });
});
