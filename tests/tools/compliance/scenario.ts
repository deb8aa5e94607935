import { randomUUIDv7 } from "node:crypto";
import { insertedValues, type Sql } from "#db/sql.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { CATALOG } from "#tools/catalog.ts";
import { startService } from "../../support/service.ts";

export type Record_ = Record<string, unknown> & { id: string };

/** A service with two properties that have no rules of their own, in which operations run as API keys. */
export async function openTwoProperties(settings: Partial<Omit<Property, "pepper">> = {}) {
  const service = await startService({ role: "web" });
  const { db, directory } = service.internals;
  const ids = await db.asSystem(async (sql) => {
    const made = [];
    for (const name of ["Mine", "Rival"]) {
      const row = { name, slug: name.toLowerCase(), timezone: "America/New_York", ...settings };
      made.push(...(await sql<{ id: string }[]>`insert into properties ${insertedValues(row)} returning id`));
    }
    return made;
  });
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
    ): Promise<T> => {
      const at = options.in ?? property!;
      const field = CATALOG.operations.get(name)?.property;
      const scopes: ("read" | "write")[] = ["read", "write"];
      const actor = {
        type: "api_key" as const,
        id: randomUUIDv7(),
        propertyId: at.id,
        scopes,
        rateLimit: 100,
      };
      const as: Partial<Call> = { actor, transport: "rest", requestId: "test", ...options.call };
      return service.call(name, { ...(field && { [field]: at.id }), ...input }, undefined, as);
    },
    /** SQL as the tenant. On a busy machine a large case takes longer than a request may. */
    sql: <T>(work: (sql: Sql) => Promise<T>, at: Property = property!) =>
      db.asProperty(at.id, work, { deadline: 30_000 }),
    close: () => service.stop(),
  };
}

export type TwoProperties = Awaited<ReturnType<typeof openTwoProperties>>;

let made = 0;

/** A player with an email and a phone of their own, created as callers do. */
export async function newPlayer(fixture: TwoProperties, input: object = {}, at: Property = fixture.property) {
  const number = ++made;
  const contact = { email: `p${number}@example.com`, phone: `+1202555${String(number).padStart(4, "0")}` };
  return (await fixture.run("create_player", { ...contact, ...input }, { in: at })) as Record_ & {
    email: string;
    phone: string;
    status: string;
  };
}
