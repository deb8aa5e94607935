import { randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/client.ts";
import { reader } from "#db/reader.ts";
import { readConfig } from "#runtime/config.ts";
import type { Call } from "#runtime/context.ts";
import { operationsOf } from "#runtime/crud.ts";
import { openDirectory, type Property } from "#runtime/directory.ts";
import { invoke, type Service } from "#runtime/invoke.ts";
import { createLog } from "#runtime/log.ts";
import type { Operation } from "#runtime/operation.ts";
import { openSessions } from "#runtime/sessions.ts";
import complianceCheck from "#tools/compliance/compliance-check.ts";
import createSelfExclusion from "#tools/compliance/create-self-exclusion.ts";
import deleteDncEntry from "#tools/compliance/delete-dnc-entry.ts";
import deleteSuppression from "#tools/compliance/delete-suppression.ts";
import dncEntries from "#tools/compliance/dnc-entries.table.ts";
import frequencyRules from "#tools/compliance/frequency-rules.table.ts";
import quietHoursRules from "#tools/compliance/quiet-hours-rules.table.ts";
import selfExclusions from "#tools/compliance/self-exclusions.table.ts";
import suppressions from "#tools/compliance/suppressions.table.ts";
import consentRecord from "#tools/consent/consent-record.ts";
import consentRecords from "#tools/consent/consent-records.table.ts";
import consentRevoke from "#tools/consent/consent-revoke.ts";
import players from "#tools/players/players.table.ts";
import { testDatabase } from "../../support/database.ts";

const OPERATIONS = new Map<string, Operation>(
  [
    ...[
      players,
      consentRecords,
      suppressions,
      dncEntries,
      selfExclusions,
      quietHoursRules,
      frequencyRules,
    ].flatMap(operationsOf),
    complianceCheck,
    createSelfExclusion,
    deleteDncEntry,
    deleteSuppression,
    consentRecord,
    consentRevoke,
  ].map((operation) => [operation.name, operation]),
);

export type Record_ = Record<string, unknown> & { id: string };

/** Two properties over a database of its own, and the operations of players, consent and compliance. */
export async function openCasino(settings: Partial<Omit<Property, "pepper">> = {}) {
  const { url, db, drop } = await testDatabase();
  const log = createLog("silent");
  const config = readConfig({ APP_SECRET: "x".repeat(32), DATABASE_URL: url });
  const ids = await db.asSystem(
    (sql) => sql<{ id: string }[]>`
      insert into properties ${sql([
        { name: "Mine", slug: "mine", timezone: "America/New_York", ...settings },
        { name: "Rival", slug: "rival", timezone: "America/New_York", ...settings },
      ] as never)} returning id`,
  );
  const directory = await openDirectory(db, log);
  const sessions = await openSessions(db, directory, config);
  const service: Service = { db, reader: reader(db), directory, sessions, config, log, wake: () => {} };
  const [property, rival] = await Promise.all(ids.map(({ id }) => directory.property(id)));
  return {
    db,
    property: property!,
    rival: rival!,
    /** Runs an operation as a key of `in` (default: the first property), or as another actor. */
    run: async <T = Record_>(
      name: string,
      input: object,
      options: { in?: Property; call?: Partial<Call> } = {},
    ) => {
      const at = options.in ?? property!;
      const operation = OPERATIONS.get(name)!;
      const call: Call = {
        actor: {
          type: "api_key",
          id: randomUUIDv7(),
          propertyId: at.id,
          scopes: ["read", "write"],
          rateLimit: 100,
        },
        transport: "rest",
        requestId: "test",
        ...options.call,
      };
      const named = operation.property === null ? {} : { [operation.property]: at.id };
      const outcome = await invoke(service, operation, call, { ...named, ...input });
      return JSON.parse(outcome.body) as T;
    },
    /** SQL as the tenant. */
    sql: <T>(work: (sql: Sql) => Promise<T>, at: Property = property!) => db.asProperty(at.id, work),
    close: async () => {
      await directory.close();
      await drop();
    },
  };
}

export type Casino = Awaited<ReturnType<typeof openCasino>>;

let made = 0;

/** A player with an email and a phone of their own, created as callers do. */
export async function newPlayer(casino: Casino, input: object = {}, at: Property = casino.property) {
  const number = ++made;
  const contact = { email: `p${number}@example.com`, phone: `+1202555${String(number).padStart(4, "0")}` };
  return (await casino.run("create_player", { ...contact, ...input }, { in: at })) as Record_ & {
    email: string;
    phone: string;
    status: string;
  };
}
