import { afterAll, beforeAll, expect, test } from "vitest";
import { type Imports, openImports } from "../scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports();
});
afterAll(() => imports.stop());

interface Stored {
  type: string;
  data: { object: Record<string, unknown>; previous?: Record<string, unknown> };
}

const mapping = { opt: "consent.email" };
const consent = { consentSource: "players club", consentText: "I agree", consentVersion: "1" };

const listen = () =>
  imports.as(
    (sql) => sql`
      insert into webhook_endpoints (property_id, url, events, secret)
      values (${imports.service.tenant.id}, 'http://127.0.0.1:9/hook', '{*}', 'whsec_x')`,
  );

/** The events of an import, in the order of their names. */
async function eventsOf(input: object): Promise<Stored[]> {
  await imports.as((sql) => sql`delete from webhook_deliveries`);
  await imports.as((sql) => sql`delete from outbox`);
  await imports.start(input);
  await expect
    .poll(() => imports.as((sql) => sql`select from import_jobs where status in ('queued', 'processing')`), {
      timeout: 20_000,
    })
    .toEqual([]);
  return imports.as(
    (sql) => sql<Stored[]>`select type, data from outbox where type <> 'job.completed' order by type, id`,
  );
}

const types = (events: Stored[]) => events.map(({ type }) => type);

test("an import emits what single calls emit: each player's change, tier, consent and refusal", async () => {
  await listen();
  const first = "player_id,email,tier,opt\nV1,v1@example.com,Gold,yes\nV2,v2@example.com,Gold,\n";
  const made = await eventsOf({ csv: first, mapping, consent });
  expect(types(made)).toEqual(["consent.granted", "player.created", "player.created"]);
  const [v1] = await imports.players();
  expect(made[0]!.data.object).toMatchObject({
    ...{ player_id: v1!.id, channel: "email", action: "granted" },
    ...{ consent_source: "players club", consent_version: "1", occurred_at: expect.any(String) },
  });
  const second = "player_id,tier,first_name\nV1,Platinum,Ann\nV2,Gold,\n";
  const changed = await eventsOf({ csv: second });
  expect(types(changed)).toEqual(["player.tier_changed", "player.updated"]);
  expect(changed[0]!.data).toMatchObject({
    object: { id: v1!.id, player_id: "V1", tier: "Platinum", email: "v1@example.com" },
    previous: { tier: "Gold" },
  });
  expect(changed[1]!.data.previous).toEqual({ tier: "Gold", first_name: null });
  const refused = "player_id,email,phone,opt\nV1,,,no\n,v9@example.com,12,no\n";
  const told = await eventsOf({ csv: refused, mapping });
  expect(types(told)).toEqual(["consent.denied", "player.suppressed"]);
  expect(told[1]!.data.object).toMatchObject({ channel: "email", reason: "unsubscribed", player_id: null });
  expect(told[1]!.data.object).not.toHaveProperty("address");
  await imports.service.call("create_self_exclusion", { email: "v3@example.com" }, imports.service.tenant.id);
  const excluded = await eventsOf({ csv: "player_id,email\nV3,v3@example.com\n" });
  expect(types(excluded)).toEqual(["player.created", "player.self_excluded"]);
  expect(await eventsOf({ csv: "player_id,tier\nV1,Silver\n", dry_run: true })).toEqual([]);
  await imports.as((sql) => sql`delete from webhook_endpoints`);
  await imports.service.idle();
});

test("an import stores events only where somebody listens", async () => {
  expect(await eventsOf({ csv: "player_id,tier\nV1,Silver\n" })).toEqual([]);
});
