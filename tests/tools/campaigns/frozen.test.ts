import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { SendOutcome } from "#runtime/channels/channel.ts";
import { type House, startHouse } from "../../support/house.ts";
import { type Casino, casino, Killed, loseWorker, vendor } from "./casino.ts";

let house: House;
let place: Casino & { id: string };

// Without a worker: the tests run its jobs, and stop them where they want.
beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());
beforeEach(async () => {
  const { id } = await house.newTenant();
  place = { ...casino(house, id), id };
});

const template = (name: string) =>
  place.call("create_template", { name, subject: "Hello", html: "<p>First text</p>" });
const edit = (id: string, fields: object) => place.call("update_template", { id, ...fields });

test("one campaign is of one audience though its segment changes while it is planned and the worker is killed", async () => {
  await place.crowd(10_020);
  const { id: inner } = await place.call("create_segment", {
    name: "Inner",
    conditions: [{ field: "first_name", operator: "eq", value: "Ana" }],
  });
  const { id: segment_id } = await place.call("create_segment", {
    name: "Outer",
    conditions: [{ field: `segment.${inner}`, operator: "in_segment" }],
  });
  const id = await place.campaign({ audience: null, segment_id });
  await place.send(id);
  await expect(place.work({ only: "plan_campaign", killedAfter: { left: 1 } })).rejects.toThrow(Killed);
  expect(await place.get(id)).toMatchObject({ audience_count: 10_000 });
  await place.call("update_segment", {
    id: inner,
    conditions: [{ field: "first_name", operator: "eq", value: "Nobody" }],
  });
  await loseWorker(house, place.id);
  await place.work({ only: "plan_campaign" });
  expect(await place.get(id)).toMatchObject({ audience_count: 10_020 });
});

test("a template that a campaign is sending keeps its content until the campaign is through", async () => {
  await place.crowd(30);
  const { id: template_id } = await template("Offer");
  const { id: other } = await template("Other");
  const id = await place.campaign({ template_id, body_html: null, subject: null });
  await edit(template_id, { html: "<p>Second text</p>" });
  await place.send(id);
  const refusals: unknown[] = [];
  const refused = async (fields: object) =>
    refusals.push(await edit(template_id, fields).catch((error) => error));
  await refused({ html: "<p>Third text</p>" });
  const { sender, given } = vendor({
    concurrency: 4,
    answer: async (message): Promise<SendOutcome> => {
      await refused({ subject: "Third" });
      return { id: message.id, status: "sent", providerMessageId: message.id };
    },
  });
  await place.work({ only: "plan_campaign" });
  await place.pause(id);
  await refused({ engine: "mjml", mjml: "<mjml><mj-body></mj-body></mjml>" });
  await place.resume(id);
  await place.work({ open: () => sender });
  expect(refusals).toHaveLength(32);
  for (const refusal of refusals) expect(refusal).toMatchObject({ code: "conflict" });
  expect(new Set(given.map(({ html }) => html?.includes("Second text")))).toEqual(new Set([true]));
  expect(await edit(other, { html: "<p>Free</p>" })).toMatchObject({ version: 2 });
  expect(await edit(template_id, { name: "Renamed", html: "<p>Third text</p>" })).toMatchObject({
    name: "Renamed",
  });
});

test("a campaign that is queued while its template is being edited waits, and sends what the template then says", async () => {
  await place.crowd(2);
  const { id: template_id } = await template("Offer");
  const id = await place.campaign({ template_id, body_html: null, subject: null });
  const edited = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const editing = place.query(async (sql) => {
    await sql`select from templates where property_id = ${place.id} and id = ${template_id} for update`;
    await sql`update templates set html = '<p>Edited</p>' where property_id = ${place.id} and id = ${template_id}`;
    edited.resolve();
    await commit.promise;
  });
  await edited.promise;
  const sending = place.send(id);
  await vi.waitFor(async () => {
    const [waiter] = await house.service.db.asSystem((sql) => sql`select from pg_locks where not granted`);
    expect(waiter).toBeDefined();
  });
  commit.resolve();
  await editing;
  await sending;
  const { sender, given } = vendor();
  await place.work({ open: () => sender });
  expect(given.map(({ html }) => html?.includes("Edited"))).toEqual([true, true]);
});
