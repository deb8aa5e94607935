import { addressHash } from "#tools/people/address.ts";
import type { TestService } from "../../support/service.ts";
import { journeyClock } from "./clock.ts";
import { EVENTS, pick, type Random, TIERS, ZONES } from "./random.ts";

/**
 * A property with players by chance: places, dates, tags, shared addresses, refusals, exclusions and events of the
 * last days, quiet hours and frequency rules for email, and a static segment.
 */
export async function town(service: TestService, random: Random, size: number) {
  const clock = await journeyClock(service, { timezone: "America/New_York" });
  const { scenario } = clock;
  await scenario.call("create_custom_field", { key: "points", label: "Points", type: "number" });
  await scenario.call("create_custom_field", { key: "stay", label: "Stay", type: "date" });
  await scenario.call("create_quiet_hours_rule", {
    country: "US",
    channel: ["email"],
    open_local: "09:00",
    close_local: "20:00",
  });
  await scenario.call("create_frequency_rule", {
    channel: "email",
    max_sends: 3,
    window_count: 2,
    window_unit: "day",
  });
  const { id: segmentId } = await scenario.call("create_segment", { name: "List", type: "static" });
  const property = await service.internals.directory.property(scenario.id);
  const day = 86_400_000;
  const rows = Array.from({ length: size }, (_, index) => {
    const email = `p${random() < 0.1 ? 0 : index}@example.com`;
    const stay = new Date(Date.now() + (random() * 20 - 5) * day).toISOString().slice(0, 10);
    return {
      player_id: `P${String(index).padStart(4, "0")}`,
      email,
      hash: addressHash(property!.pepper, email).toString("hex"),
      timezone: random() < 0.8 ? pick(random, ZONES) : null,
      tier: pick(random, TIERS),
      tags: random() < 0.3 ? ["vip"] : [],
      custom: {
        ...(random() < 0.6 && { points: Math.floor(random() * 100) }),
        ...(random() < 0.6 && { stay }),
      },
      status: random() < 0.05 ? "banned" : "active",
      consents: random() < 0.85 ? { email: true } : {},
    };
  });
  await scenario.query(
    (sql) => sql`
      insert into players (property_id, player_id, email, email_hash, timezone, tier, tags, custom, status, consents)
      select ${scenario.id}, player_id, email, decode(hash, 'hex'), timezone, tier, tags, custom, status, consents
      from jsonb_to_recordset(${rows}::jsonb) as r(player_id text, email text, hash text, timezone text, tier text,
        tags text[], custom jsonb, status text, consents jsonb)
      returning 1`,
  );
  const events = rows.flatMap(({ player_id }) =>
    Array.from({ length: Math.floor(random() * 5) }, () => ({
      player_id,
      name: pick(random, EVENTS),
      at: new Date(Date.now() - random() * 30 * day).toISOString(),
      properties: { amount: Math.floor(random() * 100) },
    })),
  );
  await scenario.query(
    (sql) => sql`
      insert into player_events (property_id, player_id, name, occurred_at, properties)
      select ${scenario.id}, p.id, e.name, e.at, e.properties
      from jsonb_to_recordset(${events}::jsonb) e(player_id text, name text, at timestamptz, properties jsonb)
        join players p on p.property_id = ${scenario.id} and p.player_id = e.player_id
      returning 1`,
  );
  const players = await scenario.query(
    (sql) =>
      sql<{ id: string }[]>`select id from players where property_id = ${scenario.id} order by player_id`,
  );
  return { clock, scenario, segmentId: String(segmentId), players: players.map(({ id }) => id) };
}
