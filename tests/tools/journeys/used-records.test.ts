import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { startService, type TestService } from "../../support/service.ts";
import { arcadeIn, SURE } from "../games/arcade.ts";
import { chain, type JourneyClock, journeyClock, type PlainNode } from "./clock.ts";

let service: TestService;
let clock: JourneyClock;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  clock = await journeyClock(service);
});

const end = { id: "end", type: "exit", config: {} };
const rest = { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 1, unit: "days" } } };
const branchOf = (field: string, operator: string, value?: unknown) => ({
  id: "by",
  type: "branch",
  config: { branches: [{ label: "a", conditions: [{ field, operator, value }] }] },
});
const message = (config: object) => ({
  id: "hello",
  type: "message",
  config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>", ...config },
});
const call = (operation: string, input: object) => clock.scenario.call(operation, input);
const GOLD = { conditions: [{ field: "tier", operator: "eq", value: "Gold" }] };
const segment = async (type = "dynamic", name = `Ours ${type}`): Promise<string> =>
  (await call("create_segment", { name, type, ...(type === "dynamic" && GOLD) })).id;
const player = () => clock.scenario.player({ player_id: "P1", email: "p1@example.com" });

/** The records, each with a node that uses it and the call that deletes it. */
const RECORDS: [string, () => Promise<{ node: PlainNode; gone: [string, object] }>][] = [
  [
    "segment",
    async () => {
      const id = await segment();
      return {
        node: branchOf(`segment.${id.toUpperCase()}`, "in_segment"),
        gone: ["delete_segment", { id }],
      };
    },
  ],
  [
    "segment",
    async () => {
      const id = await segment("static");
      const node = { id: "list", type: "add_to_segment", config: { segment_id: id.toUpperCase() } };
      return { node, gone: ["delete_segment", { id }] };
    },
  ],
  [
    "game",
    async () => {
      const id = await arcadeIn(clock.scenario).draft(SURE);
      const node = { id: "gift", type: "grant_game_play", config: { game_id: id.toUpperCase() } };
      return { node, gone: ["delete_game", { id }] };
    },
  ],
  [
    "game",
    async () => {
      const id = await arcadeIn(clock.scenario).draft(SURE, { name: "Another" });
      return { node: branchOf(`game.${id.toUpperCase()}.plays`, "gte", 1), gone: ["delete_game", { id }] };
    },
  ],
  [
    "custom field",
    async () => {
      const { id } = await call("create_custom_field", { key: "stay", type: "date" });
      const node = { id: "stay", type: "delay", config: { by: "until_field", field: "custom.stay" } };
      return { node, gone: ["delete_custom_field", { id }] };
    },
  ],
  [
    "provider",
    async () => {
      const provider = {
        name: "Ours",
        channel: "email",
        kind: "smtp",
        credentials: SMTP,
        allows_gaming: true,
      };
      const { id } = await call("create_message_provider", provider);
      return {
        node: message({ provider_id: id.toUpperCase(), from_email: "offers@example.com" }),
        gone: ["delete_message_provider", { id }],
      };
    },
  ],
];
const SMTP = { host: "smtp.example.com", port: 587 };

describe("a record that a live journey uses stays", () => {
  test("whether a node, a condition or a message names it", async () => {
    const used: { noun: string; node: PlainNode; gone: [string, object] }[] = [];
    for (const [noun, made] of RECORDS) {
      const { node, gone } = await made();
      used.push({ noun, gone, node: { ...node, id: `${node.id}${used.length}` } });
    }
    const ids = [await player()];
    const journey = await clock.published(chain([rest, ...used.map(({ node }) => node), end]), {
      name: "Welcome",
    });
    const refused = async (status: string) => {
      for (const { noun, gone } of used) {
        await expect(call(...gone), noun).rejects.toMatchObject({
          code: "conflict",
          message: expect.stringContaining(`The journey "Welcome", which is ${status}, uses this ${noun}.`),
        });
      }
    };
    await refused("active");
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await call("pause_journey", { journeyId: journey, propertyId: clock.scenario.id });
    await refused("paused");
    // The new version does without them, but somebody is inside the old one.
    await clock.republish(journey, chain([rest, end]));
    await refused("paused");
    await call("exit_players", { journeyId: journey, propertyId: clock.scenario.id, playerIds: ids });
    for (const { gone } of used) await call(...gone);
    // The needs of the older version hold nobody up.
    await call("resume_journey", { journeyId: journey, propertyId: clock.scenario.id });
    await clock.deliver();
    await clock.enroll(journey, [await clock.scenario.player({ email: "p2@example.com" })]);
    await clock.job(journey);
    await clock.deliver();
    await clock.job(journey);
    expect(await call("get_journey", { id: journey })).toMatchObject({ status: "active" });
  });

  test("the only provider of a channel, while a journey may send by it", async () => {
    const { id } = await call("create_message_provider", {
      ...{ name: "Ours", channel: "email", kind: "smtp", credentials: SMTP, allows_gaming: true },
      from_address: "offers@example.com",
    });
    const remove = () => call("delete_message_provider", { id });
    const about = { propertyId: clock.scenario.id };
    const ids = [await player()];
    const journey = await clock.published(chain([rest, message({}), end]), { name: "Welcome" });
    const refused = (status: string) =>
      expect(remove()).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining(
          `The journey "Welcome" is ${status} and has no other email provider`,
        ),
      });
    await refused("active");
    await clock.enroll(journey, ids);
    await clock.pass(1, journey);
    await call("pause_journey", { journeyId: journey, ...about });
    await refused("paused");
    // The new version sends nothing, but somebody is inside the old one.
    await clock.republish(journey, chain([rest, end]));
    await refused("paused");
    await call("resume_journey", { journeyId: journey, ...about });
    await clock.pass(2 * 24 * 60, journey);
    await refused("active");
    await clock.deliver();
    await clock.pass(1, journey);
    expect(await clock.entries(journey)).toMatchObject([{ status: "completed" }]);
    await remove();
  });

  test.each(RECORDS)("a %s that is deleted beside the publishing", async (noun, made) => {
    const { node, gone } = await made();
    const { id: journeyId } = await call("create_journey", {
      name: "J",
      draft_definition: chain([node, end]),
    });
    const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
    const release = await openTransaction(
      admin,
      (sql) =>
        sql`select from journeys where property_id = ${clock.scenario.id} and id = ${journeyId} for update`,
    );
    const publishing = call("publish_journey", { journeyId, propertyId: clock.scenario.id });
    await lockWaits(admin, 1);
    const deleting = expect(call(...gone)).rejects.toThrow(`uses this ${noun}.`);
    await lockWaits(admin, 2);
    await release();
    await publishing;
    await deleting;
    await admin.end();
  });

  test("a segment by way of another's earlier rules, a goal or exit conditions", async () => {
    const inner = await segment("static", "Inner");
    const by = { conditions: [{ field: `segment.${inner}`, operator: "in_segment" }] };
    const { id: outer } = await call("create_segment", { name: "Outer", ...by });
    const remove = () => call("delete_segment", { id: inner });
    const says = (name: string) => `The journey "${name}", which is active, uses this segment.`;
    const nodes = chain([branchOf(`segment.${outer}`, "in_segment"), end]);
    const nested = await clock.published(nodes, { name: "Nested" });
    await call("update_segment", { id: outer, ...GOLD });
    await expect(remove()).rejects.toThrow(says("Nested"));
    await call("archive_journey", { journeyId: nested, propertyId: clock.scenario.id });
    for (const [name, more] of [
      ["Goal", { goal: by }],
      ["Exit", { exit_conditions: by }],
    ] as const) {
      const journey = await clock.published(chain([rest, end]), { name, ...more });
      await expect(remove()).rejects.toThrow(says(name));
      await call("archive_journey", { journeyId: journey, propertyId: clock.scenario.id });
    }
    await remove();
  });

  test("and is free with the journey's archive", async () => {
    const id = await segment();
    const journey = await clock.published(chain([branchOf(`segment.${id}`, "in_segment"), end]));
    await call("archive_journey", { journeyId: journey, propertyId: clock.scenario.id });
    await call("delete_segment", { id });
  });

  test("a draft holds nothing, and is told at its check", async () => {
    const id = await segment();
    const draft_definition = chain([branchOf(`segment.${id}`, "in_segment"), end]);
    const { id: journeyId } = await call("create_journey", { name: "Draft", draft_definition });
    await call("delete_segment", { id });
    const { errors } = await call("validate_journey", { journeyId, propertyId: clock.scenario.id });
    expect(errors).toMatchObject([{ node: "by", message: expect.stringContaining(id) }]);
  });

  test("a template may go: the version has the words", async () => {
    const template = { name: "T", channel: "email", subject: "Kept words", html: "<p>Kept</p>" };
    const { id } = await call("create_template", template);
    const own = { subject: undefined, body_html: undefined, template_id: id };
    const journey = await clock.published(chain([message(own), end]));
    await call("delete_template", { id });
    await clock.enroll(journey, [await player()]);
    await clock.pass(1, journey);
    await clock.deliver();
    expect((await clock.scenario.mailbox()).map(({ subject }) => subject)).toEqual(["Kept words"]);
  });
});

test("a draft that another changes while its records are locked is not published", async () => {
  const [first, second] = [await segment(), await segment("dynamic", "Others")];
  const draft = (id: string) => chain([branchOf(`segment.${id}`, "in_segment"), end]);
  const { id: journeyId } = await call("create_journey", { name: "J", draft_definition: draft(first) });
  const admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
  const release = await openTransaction(
    admin,
    (sql) => sql`select from segments where property_id = ${clock.scenario.id} and id = ${first} for update`,
  );
  const publishing = call("publish_journey", { journeyId, propertyId: clock.scenario.id });
  publishing.catch(() => {});
  await lockWaits(admin, 1);
  await call("update_journey", { id: journeyId, draft_definition: draft(second) });
  await release();
  await expect(publishing).rejects.toThrow(
    "The journey's draft has just been changed. Read it, and publish again.",
  );
  await call("publish_journey", { journeyId, propertyId: clock.scenario.id });
  await admin.end();
});

describe("a record that a live journey uses keeps its meaning", () => {
  test("a list stays a list", async () => {
    const id = await segment("static");
    const list = { id: "list", type: "add_to_segment", config: { segment_id: id } };
    const journey = await clock.published(chain([list, end]), { name: "Lists" });
    const change = () => call("update_segment", { id, type: "dynamic", ...GOLD });
    await expect(change()).rejects.toThrow('The journey "Lists", which is active, uses this segment.');
    await call("archive_journey", { journeyId: journey, propertyId: clock.scenario.id });
    await change();
  });

  test("a custom field takes the values that it gives", async () => {
    const { id } = await call("create_custom_field", {
      key: "stage",
      type: "enum",
      enum_values: ["first", "second", "third"],
    });
    const change = { id: "change", type: "update_player", config: { custom: { stage: "second" } } };
    await clock.published(chain([change, end]), { name: "Stages" });
    const says = 'The journey "Stages", which is active, uses this custom field.';
    const patch = (fields: object) => call("update_custom_field", { id, ...fields });
    await expect(patch({ archived_at: new Date().toISOString() })).rejects.toThrow(says);
    await expect(patch({ enum_values: ["first", "third"] })).rejects.toThrow(says);
    await expect(patch({ type: "text", enum_values: [] })).rejects.toThrow(says);
    await patch({ enum_values: ["first", "second"] });
  });

  test("a field that it only reads may be archived: the values stay", async () => {
    const { id } = await call("create_custom_field", { key: "stay", type: "date" });
    const until = { id: "stay", type: "delay", config: { by: "until_field", field: "custom.stay" } };
    await clock.published(chain([until, end]));
    const custom = { stay: "2036-01-01" };
    const { id: playerId } = await call("create_player", { player_id: "P1", custom });
    await call("update_custom_field", { id, archived_at: new Date().toISOString() });
    expect(await call("get_player", { id: playerId })).toMatchObject({ custom });
  });

  test("nobody is promised a ticket of a game that has ended: the journey pauses, and says so", async () => {
    const place = arcadeIn(clock.scenario);
    const game = await place.game(SURE);
    const gift = { id: "gift", type: "grant_game_play", config: { game_id: game } };
    const journey = await clock.published(chain([gift, end]));
    await clock.enroll(journey, [await player()]);
    await place.on("end_game", game);
    await clock.job(journey);
    expect(await call("get_journey", { id: journey })).toMatchObject({
      status: "paused",
      status_reason: expect.stringContaining("The node gift: The game is ended"),
    });
    expect(await clock.entries(journey)).toMatchObject([{ status: "active", node: "in" }]);
  });
});
