import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "#db/database.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Call } from "#runtime/operation/context.ts";
import { CATALOG } from "#tools/catalog.ts";
import { dying, refused, withLastRows } from "../../support/postgres/dying.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade } from "./arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
});
afterAll(() => service?.stop());

/** The service's database, which refuses all statements of a transaction behind this number. */
function failingAt(statement: number): Database {
  const { db } = service.internals;
  const asProperty: Database["asProperty"] = (propertyId, work, options) =>
    db.asProperty(
      propertyId,
      (sql, last) => withLastRows(work)(dying(sql, statement, refused), last),
      options,
    );
  return { ...db, asProperty };
}

interface Request {
  operation: string;
  input: object;
  key: string;
}

async function request({ operation, input, key }: Request, statement = Number.POSITIVE_INFINITY) {
  const call: Call = {
    actor: { type: "system", id: null },
    transport: "rest",
    requestId: randomUUID(),
    propertyId: place.id,
    idempotency: { key, fingerprint: createHash("sha256").update(JSON.stringify(input)).digest() },
  };
  const failing = { ...service.internals, db: failingAt(statement) };
  const { body, replayed } = await invoke(failing, CATALOG.operations.get(operation)!, call, {
    propertyId: place.id,
    ...input,
  });
  return { answer: JSON.parse(body), replayed };
}

/** Fails at each statement in turn, until the request comes through. Answers the number of failures. */
async function throughAllFailures(wanted: Request, look: () => Promise<unknown>): Promise<number> {
  const before = await look();
  for (let statement = 0; ; statement += 1) {
    const done = await request(wanted, statement).catch(() => null);
    if (done) return statement;
    expect(await look(), `after the failure of statement ${statement + 1}`).toEqual(before);
  }
}

const stateOf = (game: string) =>
  place.query(async (sql) => ({
    plays: await sql`
      select prize_id, status, code_hash is null as bare from game_plays where property_id = ${place.id} and game_id = ${game} order by nonce`,
    stock: await sql`
      select inventory_remaining from game_prizes where property_id = ${place.id} and game_id = ${game}`,
    tickets: await sql`
      select used_play_id is null as open from game_tickets where property_id = ${place.id} and game_id = ${game} order by id`,
    counts: await sql`
      select plays, next_ticket from game_counts where property_id = ${place.id} and game_id = ${game}`,
    events: await sql`
      select count(*)::int from audit_logs where property_id = ${place.id} and entity = 'game_plays'`,
  }));

test.each(["independent", "deck"])(
  "a play that fails at any statement has not been, and the retry is one play (%s)",
  async (draw) => {
    const limits = draw === "deck" ? {} : { inventory_total: 3, per_player_limit: 2 };
    const prize = { label: "Dinner", value: 50, weight: 3, ...limits };
    const game = await place.game([prize], {
      draw,
      cost: { type: "ticket" },
      own_free_entry: true,
      play_limits: { game_total: 3 },
    });
    const player = await place.player();
    await place.grant(game, [player]);
    const input = { gameId: game, playerId: player };
    const play = { operation: "play_game", input, key: randomUUID() };
    const failures = await throughAllFailures(play, () => stateOf(game));
    expect(failures).toBeGreaterThan(5);
    const after = await stateOf(game);
    expect(after).toMatchObject({
      plays: [{ status: "revealed" }],
      stock: [{ inventory_remaining: 2 }],
      tickets: [{ open: false }],
    });
    // The answer was lost on its way: the same key gives the same play.
    const again = await request(play);
    expect(again.replayed).toBe(true);
    expect(await stateOf(game)).toEqual(after);

    const claim = {
      operation: "claim_game_prize",
      input: { playId: again.answer.play_id, playerId: player },
      key: randomUUID(),
    };
    expect(await throughAllFailures(claim, () => stateOf(game))).toBeGreaterThan(3);
    expect((await stateOf(game)).plays).toMatchObject([{ status: "claimed", bare: false }]);
  },
);
