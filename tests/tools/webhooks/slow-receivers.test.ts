import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { openWebhooks, PLAYER, type Webhooks } from "./scenario.ts";

const PATIENCE = { timeout: 10_000 };

let webhooks: Webhooks;
beforeAll(async () => {
  webhooks = await openWebhooks();
});
afterAll(() => webhooks.close());
afterEach(() => webhooks.clear());

const players = (count: number) => Array.from({ length: count }, () => PLAYER);

test("one receiver of twenty that hangs delays none of the others", async () => {
  const held = Promise.withResolvers<void>();
  const hanging = await webhooks.subscribe(() => ({ after: held.promise }));
  const others = await Promise.all(Array.from({ length: 19 }, () => webhooks.subscribe()));
  await webhooks.emit("player.created", players(30));
  const working = webhooks.work();
  await vi.waitFor(() => {
    for (const { received } of others) expect(received).toHaveLength(30);
  }, PATIENCE);
  for (const { id } of others) {
    await vi.waitFor(async () => {
      const states = (await webhooks.deliveriesOf(id)).map(({ status }) => status);
      expect(states.filter((status) => status === "delivered")).toHaveLength(30);
    }, PATIENCE);
  }
  expect(hanging.received).toHaveLength(16);
  const states = (await webhooks.deliveriesOf(hanging.id)).map(({ attempt_count }) => attempt_count);
  expect(states).toEqual(players(30).map(() => 0));
  held.resolve();
  await working;
  expect(hanging.received).toHaveLength(30);
});

test("requests that hang keep neither the others of their endpoint nor their outcomes nor new events waiting", async () => {
  const held = Promise.withResolvers<void>();
  const { id, received } = await webhooks.subscribe((_, before) =>
    before % 10 === 0 ? { after: held.promise } : {},
  );
  await webhooks.emit("player.created", players(250));
  const working = webhooks.work();
  const settled = async (count: number) => {
    const states = (await webhooks.deliveriesOf(id)).map(({ status }) => status);
    expect(states.filter((status) => status === "delivered")).toHaveLength(count);
  };
  await vi.waitFor(() => settled(225), PATIENCE);
  expect(received).toHaveLength(250);
  await webhooks.emit("player.created", players(50));
  await vi.waitFor(() => settled(270), PATIENCE);
  held.resolve();
  await working;
  await settled(300);
  expect(new Set(received.map(({ headers }) => headers["x-service-delivery"])).size).toBe(300);
  expect(received).toHaveLength(300);
});
