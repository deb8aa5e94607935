import fc from "fast-check";
import type { Sql } from "#db/database.ts";
import { identifier, join } from "#db/sql.ts";
import type { Property } from "#runtime/operation/property.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { refreshConsents } from "#tools/consent/ledger.ts";
import { addressHash } from "#tools/people/address.ts";
import type { GateCase } from "./gate.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** 23:30 of 14 June in New York: the day is not the same everywhere. */
export const AT = Date.parse("2026-06-15T03:30:00Z");
export const MOST_PLAYERS = 40;

// Few enough that players share them, and enough that some have one to themselves.
export const EMAILS = Array.from({ length: 24 }, (_, n) => `e${n}@example.com`);
export const PHONES = Array.from({ length: 24 }, (_, n) => `+1202555${String(n).padStart(4, "0")}`);
const emails = fc.constantFrom(...EMAILS);
const phones = fc.constantFrom(...PHONES);
const channel = fc.constantFrom(...CHANNELS);
const someone = fc.nat(MOST_PLAYERS - 1);
/** Long ago, just before, at, just after, much later than the time that is asked about; or never. */
const end = fc.constantFrom(null, null, AT - DAY, AT - 1, AT, AT + 1, AT + DAY);
const births = [
  "1950-01-01",
  "2005-06-13",
  "2005-06-14",
  "2005-06-15",
  "2005-06-16",
  "2004-02-29",
  "2010-01-01",
];

const player = fc.record({
  email: fc.option(emails, { freq: 8 }),
  phone: fc.option(phones, { freq: 8 }),
  status: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("active", "inactive") },
    { weight: 2, arbitrary: fc.constantFrom("vip_hold", "banned", "self_excluded", "deceased", "erased") },
  ),
  emailStatus: fc.constantFrom("unknown", "deliverable", "risky", "deliverable", "undeliverable"),
  birthDate: fc.option(fc.constantFrom(...births), { freq: 3 }),
  deleted: fc.nat(15).map((n) => n === 0),
});

const suppression = fc
  .record({
    by: fc.oneof(emails, phones, someone),
    channel: fc.constantFrom(...CHANNELS, "all" as const),
    reason: fc.constantFrom(
      "unsubscribed",
      "stop_keyword",
      "hard_bounce",
      "invalid",
      "complaint",
      "needs_review",
      "manual",
      "erased",
    ),
    expires: end,
    lifted: fc.boolean(),
  })
  .map(({ by, ...rest }) => ({
    ...rest,
    address: typeof by === "string" ? by : null,
    player: typeof by === "string" ? null : by,
  }));

const held = fc
  .record({ address: phones, channel: fc.constantFrom("sms" as const, "voice" as const, "all" as const) })
  .map((one) => ({
    ...one,
    reason: "needs_review" as const,
    expires: null,
    lifted: false,
    player: null,
  }));

export const gateCases: fc.Arbitrary<GateCase> = fc
  .record({
    timezone: fc.constantFrom("America/New_York", "UTC", "Asia/Tokyo", "Pacific/Kiritimati"),
    minAge: fc.constantFrom(18, 21, 0),
    emailConsentMode: fc.constantFrom("opt_in" as const, "opt_out" as const),
    players: fc.array(player, { minLength: MOST_PLAYERS, maxLength: MOST_PLAYERS }),
    ledger: fc.array(
      fc.record({
        player: someone,
        channel,
        given: fc.nat(3).map((n) => n > 0),
        written: fc.nat(2).map((n) => n > 0),
        occurred: fc.nat(5),
        expires: end,
      }),
      { minLength: 80, maxLength: 160 },
    ),
    suppressions: fc.uniqueArray(fc.oneof({ arbitrary: suppression, weight: 4 }, held), {
      minLength: 8,
      maxLength: 16,
      selector: (one) => [one.address, one.player, one.channel, one.reason].join(),
    }),
    dnc: fc.uniqueArray(
      fc.record({
        phone: phones,
        // As often as the others together: it is another reason.
        list: fc.oneof(
          fc.constantFrom("internal", "national", "litigator", "wireless"),
          fc.constant("reassigned"),
        ),
        expires: end,
      }),
      { minLength: 5, maxLength: 10, selector: (one) => one.phone + one.list },
    ),
    exclusions: fc.array(
      fc.record({
        player: fc.option(someone),
        addresses: fc.array(fc.oneof(emails, phones), { maxLength: 2 }),
        ends: end,
      }),
      { maxLength: 4 },
    ),
  })
  .map((gateCase) => ({
    ...gateCase,
    // No two acts at one moment: which of them is the last would be chance.
    ledger: gateCase.ledger.map((act, index) => ({
      ...act,
      occurred: AT - act.occurred * DAY - index * MINUTE,
    })),
  }));

/** Writes a case into a property's tables, and answers the players' ids in the case's order. */
export async function load(
  sql: Sql,
  property: Property,
  gateCase: GateCase,
  newId: () => string,
): Promise<string[]> {
  const hash = (address: string) => addressHash(property.pepper, address).toString("hex");
  const iso = (time: number | null) => (time === null ? null : new Date(time).toISOString());
  const ids = gateCase.players.map(newId);
  await insert(
    sql,
    property,
    "players",
    gateCase.players.map((one, index) => ({
      id: ids[index],
      player_id: ids[index],
      email: one.email,
      phone: one.phone,
      email_hash: one.email && bytes(hash(one.email)),
      phone_hash: one.phone && bytes(hash(one.phone)),
      status: one.status,
      email_status: one.emailStatus,
      birth_date: one.birthDate,
      deleted_at: one.deleted ? "2026-01-01" : null,
      consents: {},
      custom: {},
      tags: [],
      legal_hold: false,
      ...now,
    })),
  );
  await insert(
    sql,
    property,
    "consent_records",
    gateCase.ledger.map((one) => ({
      id: newId(),
      player_id: ids[one.player],
      channel: one.channel,
      action: one.given ? "granted" : "denied",
      consent_given: one.given,
      consent_level: one.written ? "express_written" : "express",
      purpose: "marketing",
      occurred_at: iso(one.occurred),
      recorded_at: iso(one.occurred),
      expires_at: one.given ? iso(one.expires) : null,
      actor_type: "system",
      record_hash: bytes(""),
      ...now,
    })),
  );
  const excluded = new Map<string, number | null>();
  for (const { addresses, ends } of gateCase.exclusions) {
    for (const address of addresses) {
      const other = excluded.get(address);
      excluded.set(address, ends === null || other === null ? null : Math.max(ends, other ?? ends));
    }
  }
  await insert(sql, property, "suppressions", [
    ...gateCase.suppressions.map((one) => ({
      id: newId(),
      channel: one.channel,
      address_hash: bytes(hash(one.address ?? `player:${one.player}`)),
      player_id: one.player === null ? null : ids[one.player],
      reason: one.reason,
      expires_at: iso(one.expires),
      lifted_at: one.lifted ? iso(AT - DAY) : null,
      ...now,
    })),
    ...[...excluded].map(([address, ends]) => ({
      id: newId(),
      channel: "all",
      address_hash: bytes(hash(address)),
      reason: "self_excluded",
      expires_at: iso(ends),
      ...now,
    })),
  ]);
  await insert(
    sql,
    property,
    "dnc_entries",
    gateCase.dnc.map((one) => ({
      id: newId(),
      phone_hash: bytes(hash(one.phone)),
      list: one.list,
      requested_at: iso(AT - DAY),
      expires_at: iso(one.expires),
      ...now,
    })),
  );
  await insert(
    sql,
    property,
    "self_exclusions",
    gateCase.exclusions.map((one) => ({
      id: newId(),
      player_id: one.player === null ? null : ids[one.player],
      address_hashes: one.addresses.map((address) => bytes(hash(address))),
      starts_at: iso(AT - DAY),
      ends_at: iso(one.ends),
      ...now,
    })),
  );
  await refreshConsents(sql, property, ids);
  return ids;
}

const now = { created_at: "2026-01-01", updated_at: "2026-01-01" };

function bytes(hex: string): string {
  return `\\x${hex}`;
}

async function insert(sql: Sql, property: Property, table: string, rows: object[]): Promise<void> {
  const records = rows.map((row) => ({ property_id: property.id, ...row }));
  if (records.length === 0) return;
  const columns = join(Object.keys(records[0]!).map(identifier));
  await sql`insert into ${identifier(table)} (${columns})
    select ${columns} from jsonb_populate_recordset(null::${identifier(table)}, ${records}::jsonb)
    returning 1`;
}
