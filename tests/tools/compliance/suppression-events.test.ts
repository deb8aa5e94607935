import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newPlayer, openTwoProperties, type TwoProperties } from "./scenario.ts";

let fixture: TwoProperties;
beforeAll(async () => {
  fixture = await openTwoProperties();
  await fixture.sql(
    (sql) => sql`insert into webhook_endpoints (property_id, url, events, secret)
      values (${fixture.property.id}, 'https://example.com/', '{player.suppressed}', 's')`,
  );
});
afterAll(() => fixture.close());
beforeEach(() =>
  fixture.sql(async (sql) => {
    await sql`delete from webhook_deliveries`;
    await sql`delete from outbox`;
  }),
);

const told = () =>
  fixture.sql(
    (sql) => sql<{ channel: string; reason: string; player_id: string | null; has_address: boolean }[]>`
      select data->'object'->>'channel' as channel, data->'object'->>'reason' as reason,
        data->'object'->>'player_id' as player_id, data->'object' ? 'address' as has_address
      from outbox order by 1, 2`,
  );

test("a revocation tells of each suppression that it writes, once", async () => {
  const player = await newPlayer(fixture, { email: "revoked@example.com", phone: "+12025550143" });
  const revoke = { playerId: player.id, channel: "all" };
  await fixture.run("consent_revoke", revoke);
  const all = ["email", "push", "sms", "voice"].map((channel) => ({
    ...{ channel, reason: "unsubscribed", player_id: player.id, has_address: false },
  }));
  expect([...(await told())]).toEqual(all);
  await fixture.run("consent_revoke", revoke);
  expect(await told()).toHaveLength(all.length);
});

test("a STOP and a self-exclusion tell of their suppressions", async () => {
  const operator = { actor: { type: "system" as const, id: null } };
  await fixture.run("receive_sms", { from: "+12025550144", text: "STOP" }, { call: operator });
  expect((await told()).map(({ channel, reason }) => [channel, reason])).toEqual([
    ["sms", "stop_keyword"],
    ["voice", "stop_keyword"],
  ]);
  await fixture.run("create_self_exclusion", { email: "out@example.com" });
  expect((await told()).map(({ channel, reason }) => [channel, reason])).toContainEqual([
    "all",
    "self_excluded",
  ]);
});
