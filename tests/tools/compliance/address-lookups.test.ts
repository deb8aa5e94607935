import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Context } from "#runtime/operation/context.ts";
import { addressHash } from "#tools/people/address.ts";
import { applyConsequences } from "#tools/providers/bounce-limits.ts";
import { countRows, type RowCounter } from "../../support/postgres/rows-read.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// A search for an address uses the index of hashes, however many players the property has.

const MANY = 8_000;
const FEW = 100;
const TABLES = ["players", "suppressions", "dnc_entries", "campaign_sends"];

let service: TestService;
let counter: RowCounter;

beforeAll(async () => {
  service = await startService();
  const scenario = scenarioIn(service);
  const campaign = await scenario.campaign();
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  const others = admin`(select ${service.tenant.id}::uuid as property, sha256(n::text::bytea) as hash, n
    from generate_series(1, ${MANY}::int) n) o`;
  await admin`
    insert into players (property_id, player_id, email, email_hash, phone, phone_hash, birth_date)
    select property, n, n || '@example.com', hash, n, hash, date '1950-01-01' + n from ${others} returning 1`;
  await admin`
    insert into suppressions (property_id, channel, address_hash, reason)
    select property, 'all', hash, 'erased' from ${others} returning 1`;
  await admin`insert into dnc_entries (property_id, phone_hash) select property, hash from ${others} returning 1`;
  await admin`
    insert into campaign_sends (property_id, id, campaign_id, channel, status, dedupe_key, address_hash)
    select property, uuid_v7(), ${campaign}, 'email', 'sent', hash, hash from ${others} returning 1`;
  await admin.unsafe(`analyze ${TABLES.join(", ")}`);
  await admin.end();
  counter = countRows(service);
});
afterAll(async () => {
  await counter?.stop();
  await service?.stop();
});

async function post(path: string, body: unknown): Promise<void> {
  const { status, text } = await service.post(path, body);
  expect(status, text).toBeLessThan(300);
}

const player = (name: string, phone: string) =>
  scenarioIn(service).player({
    email: `${name}@casino.example`,
    phone,
    first_name: name,
    last_name: "Gone",
    birth_date: "1970-05-05",
  });

async function bounce(email: string): Promise<void> {
  const property = (await service.internals.directory.property(service.tenant.id))!;
  const hash = addressHash(property.pepper, email).toString("hex");
  await service.internals.db.asProperty(property.id, (sql) =>
    applyConsequences(
      { sql, property, emit: () => {} } as unknown as Context,
      { channel: "email", kind: "sendgrid" },
      [{ kind: "hard", hash, playerId: null, campaignId: null }],
    ),
  );
}

async function importRefusing(): Promise<void> {
  const csv = "player_id,email,email_opt_in,adt\nB1,no@casino.example,no,many\n";
  await post("/api/import_jobs", { csv, mapping: { email_opt_in: "consent.email" } });
  await service.idle();
}

test.each<[string, string[], () => Promise<unknown>]>([
  [
    "a new player and its change",
    TABLES,
    async () => {
      const id = await player("amy", "+17025550144");
      const { status } = await service.request("PATCH", `/api/players/${id}`, {
        body: { phone: "+17025550145", last_name: "Came" },
      });
      expect(status).toBe(200);
    },
  ],
  [
    "a file of players",
    TABLES,
    async () => {
      await post("/api/import_jobs", {
        csv: "player_id,email\nnew-1,new@casino.example\n1,one@casino.example\n",
      });
      await service.idle();
    },
  ],
  [
    "self-exclusions",
    TABLES,
    async () => {
      await player("ben", "+17025550111");
      const unknown = { email: "nobody@casino.example", phone: "+17025550199" };
      const named = { first_name: "Ben", last_name: "Gone", birth_date: "1970-05-05" };
      await post("/api/self_exclusions", [unknown, { phone: "+17025550111" }, named]);
    },
  ],
  [
    "an export",
    TABLES,
    async () => {
      const playerId = await player("una", "+17025550122");
      await post("/api/functions/data-export", { propertyId: service.tenant.id, playerId });
    },
  ],
  [
    "an erasure",
    TABLES,
    async () => {
      const playerId = await player("ann", "+17025550123");
      await post("/api/functions/data-deletion", { propertyId: service.tenant.id, playerId });
    },
  ],
  [
    "a player who gets another number",
    TABLES,
    async () => {
      const id = await player("sue", "+17025550188");
      const { status, text } = await service.request("PATCH", `/api/players/${id}`, {
        body: { player_id: "S1" },
      });
      expect(status, text).toBe(200);
    },
  ],
  [
    "a bounce",
    TABLES,
    async () => {
      await player("eve", "+17025550155");
      await bounce("eve@casino.example");
    },
  ],
  [
    "a validation",
    TABLES,
    async () => {
      await player("joe", "+17025550166");
      await post("/api/validation_jobs", { emails: ["joe@casino.example"] });
    },
  ],
  [
    "an import of who refuses",
    TABLES,
    async () => {
      await player("tim", "+17025550177");
      await importRefusing();
    },
  ],
])("of many rows, few are read by %s", async (_, tables, work) => {
  const { read } = await counter.during(work);
  expect(read.players).toBeGreaterThan(0);
  expect(tables.filter((table) => read[table]! >= FEW).map((table) => `${table}: ${read[table]}`)).toEqual(
    [],
  );
});
