import { randomUUIDv7 } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { join } from "#db/sql.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { BLOCK_REASONS, gateReasons } from "#tools/compliance/gate.ts";
import { verdictsOn } from "#tools/compliance/verdicts.ts";
import { type Traced, traceOf } from "#tools/eligibility/trace.ts";
import { addressHash } from "#tools/people/address.ts";
import { isFull } from "../../support/proof-size.ts";
import { type GateCase, mayReach, reasonsFor } from "./oracles/gate.ts";
import { AT, EMAILS, gateCases, load, PHONES } from "./oracles/gate-cases.ts";
import { newPlayer, openTwoProperties, type TwoProperties } from "./scenario.ts";

let fixture: TwoProperties;
/** Has no players but those of a case. */
let empty: TwoProperties;
beforeAll(async () => {
  [fixture, empty] = await Promise.all([openTwoProperties(), openTwoProperties()]);
});
afterAll(() => Promise.all([fixture.close(), empty.close()]));

const isCluster = inject("workers").length > 0;

class Undo extends Error {}

/** The addresses that a campaign of each channel could have. */
const REACHED = [
  ["email", EMAILS],
  ["sms", PHONES],
  ["voice", PHONES],
] as const;

interface Judged {
  /** By channel and player. */
  answers: string[][][];
  /** Whether a check of the address allows it, in the order of `REACHED`. */
  checks: boolean[][];
  /** Of the first player, by channel. */
  traces: Traced[];
}

/** The gate's answers for a case, in a transaction that leaves nothing behind. */
async function judged(gateCase: GateCase): Promise<Judged> {
  const property = {
    ...empty.property,
    timezone: gateCase.timezone,
    min_age: gateCase.minAge,
    email_consent_mode: gateCase.emailConsentMode,
  };
  const at = new Date(AT).toISOString();
  let answers: string[][][] = [];
  const checks: boolean[][] = [];
  const traces: Traced[] = [];
  const work = empty.sql(async (sql) => {
    const ids = await load(sql, property, gateCase, randomUUIDv7);
    const [row] = await sql<{ answers: Record<string, string[]>[] }[]>`
      select array[${join(
        CHANNELS.map(
          (channel) => sql`(
          select jsonb_object_agg(p.id, ${gateReasons({ property, channel, at })})
          from players p where p.property_id = ${property.id})`,
        ),
      )}] as answers`;
    answers = row!.answers.map((byId) => ids.map((id) => byId[id]!));
    for (const [channel, addresses] of REACHED) {
      const asked = addresses.map((address) => {
        const hash = addressHash(property.pepper, address).toString("hex");
        return { address, hash, player: null };
      });
      const verdicts = await verdictsOn({ sql, property }, channel, asked, { at });
      checks.push(verdicts.map(({ allowed }) => allowed));
    }
    for (const channel of ids.length > 0 ? CHANNELS : []) {
      const asking = { channel, campaign: null, isUncapped: false, at };
      traces.push((await traceOf({ sql, property }, ids[0]!, asking))!);
    }
    throw new Undo();
  });
  await expect(work).rejects.toThrow(Undo);
  return { answers, checks, traces };
}

test(
  "the gate says what a plain reading of the rules says, for any players, ledgers, lists and exclusions, and a check allows what a campaign would reach",
  async () => {
    const seen = new Map<string, number>();
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(gateCases, async (gateCase) => {
        const { answers, checks, traces } = await judged(gateCase);
        const expected = CHANNELS.map((channel) =>
          gateCase.players.map((_, index) => reasonsFor(gateCase, index, channel, AT)),
        );
        expect(answers).toEqual(expected);
        compared += expected.flat().length;
        expect(checks).toEqual(
          REACHED.map(([channel, addresses]) =>
            addresses.map((address) => mayReach(gateCase, channel, address, AT)),
          ),
        );
        for (const [index, { reasons, decided }] of traces.entries()) {
          expect(reasons).toEqual(expected[index]![0]);
          // The rules that block, and no others, have records by which they do.
          const found = Object.entries(decided).flatMap(([rule, { length }]) => (length > 0 ? [rule] : []));
          expect(found.sort()).toEqual(reasons);
        }
        const reached = checks.flat().filter(Boolean).length;
        seen.set("reached", (seen.get("reached") ?? 0) + reached);
        for (const reason of expected.flat().flatMap((all) => (all.length === 0 ? ["allowed"] : all))) {
          seen.set(reason, (seen.get(reason) ?? 0) + 1);
        }
      }),
      // A smaller example takes minutes to find: ask for it with the seed of the message.
      { ...(isFull ? { numRuns: 700 } : { numRuns: 24, seed: 3 }), endOnFailure: true },
    );
    // Worlds prove a rule only where it matters in some of them.
    for (const reason of ["allowed", "reached", ...Object.keys(BLOCK_REASONS)])
      expect(seen.get(reason) ?? 0, reason).toBeGreaterThan(20);
    expect(compared).toBeGreaterThan(isFull ? 100_000 : 2_000);
    // With PROOF=full 112,000 cases are judged twice.
  },
  // On a cluster each node plans the statements anew.
  isFull ? 600_000 : isCluster ? 120_000 : 60_000,
);

test("without a time the gate asks the database's clock", async () => {
  const player = await newPlayer(fixture);
  const { property } = fixture;
  await fixture.run("create_suppression", {
    channel: "email",
    address: player.email,
    expires_at: "2099-01-01T00:00:00Z",
  });
  const reasons = async (at?: string) => {
    const [row] = await fixture.sql(
      (sql) => sql<{ reasons: string[] }[]>`
        select ${gateReasons({ property, channel: "email", at })} as reasons
        from players p where p.property_id = ${property.id} and p.id = ${player.id}`,
    );
    return row!.reasons;
  };
  expect(await reasons()).toEqual(["no_consent", "suppressed"]);
  expect(await reasons("2099-01-01T00:00:00Z")).toEqual(["no_consent"]);
});

test("the gate stands in a statement between values of its own", async () => {
  const player = await newPlayer(fixture);
  const { property } = fixture;
  const [row] = await fixture.sql(
    (sql) => sql`
      select ${"before"}::text as before, ${gateReasons({ property, channel: "sms" })} as reasons
      from players p where p.property_id = ${property.id} and p.id = ${player.id}`,
  );
  expect(row).toEqual({ before: "before", reasons: ["no_consent"] });
});

// Planning takes five times as long as the check itself. A cluster plans on each node.
test.skipIf(isCluster)("a connection that has checked single people keeps the check's plan", async () => {
  const { property } = fixture;
  const [kept] = await fixture.sql(async (sql) => {
    await sql`
      insert into players (property_id, player_id, email_hash, phone_hash)
      select ${property.id}, n, sha256(n::text::bytea), sha256(n::text::bytea) from generate_series(1, 5000) n returning 1`;
    await sql`select analyze_players()`;
    for (let check = 0; check < 8; check++) {
      const hash = addressHash(property.pepper, `check${check}@example.com`).toString("hex");
      await verdictsOn({ sql, property }, "email", [{ address: null, hash, player: null }]);
    }
    return sql<{ custom: number; generic: number }[]>`
      select custom_plans::int as custom, generic_plans::int as generic from pg_prepared_statements
      where statement like ${"%strictest%"}`;
  });
  // PostgreSQL plans the first five for their values.
  expect(kept).toEqual({ custom: 5, generic: 3 });
});

test("another property's lists do not matter", async () => {
  const player = await newPlayer(fixture);
  await fixture.run("consent_record", { playerId: player.id, channel: "sms", consentGiven: true });
  const elsewhere = { in: fixture.rival };
  await fixture.run("create_suppression", { channel: "all", address: player.phone }, elsewhere);
  await fixture.run("create_dnc_entry", { phone: player.phone }, elsewhere);
  await fixture.run("create_self_exclusion", { phone: player.phone }, elsewhere);
  const check = { channel: "sms", phone: player.phone };
  expect(await fixture.run("compliance_check", check)).toMatchObject({ allowed: true, reasons: [] });
});
