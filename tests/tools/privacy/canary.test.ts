import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fail, type Lease } from "#runtime/jobs/leases.ts";
import { reap } from "#runtime/jobs/queue.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { receiveFile } from "#tools/imports/upload.ts";
import { TRACES } from "#tools/privacy/traces/all.ts";
import { idFields, inputFor, overRest, pointsTo, schemaOf } from "../../support/operation-calls.ts";
import { columnsIn } from "../../support/schema.ts";
import { startService, type TestService } from "../../support/service.ts";

/** A word that stands nowhere else, in everything that is told about one person. */
const TOKEN = `zq${randomBytes(9).toString("hex")}`;
const EMAIL = `${TOKEN}@example.com`;
const PHONE = `+1702555${String(1000 + (randomBytes(2).readUInt16BE() % 9000))}`;

let service: TestService;
let admin: postgres.Sql;
let echo: Server;
const logged: string[] = [];
/** The answers of successful calls, by operation. */
const stored: string[] = [];

beforeAll(async () => {
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  service = await startService({}, { log });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  // A receiver that fails, and says again what it was told.
  echo = createServer((request, response) => {
    response.statusCode = 500;
    request.pipe(response);
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  echo.closeAllConnections();
  echo.close();
  await admin.end();
  await service.stop();
});

const headersFor = (name: string) => ({
  "Idempotency-Key": `${TOKEN}-${name}`,
  "User-Agent": `Browser of ${TOKEN}`,
  "X-Request-Id": `${TOKEN}-${name}`.slice(0, 60),
});

/** Runs an operation with the token in each field that takes it; fields that refuse it are left out. */
async function tell(
  operation: Operation,
  given: Record<string, unknown>,
): Promise<Record<string, unknown> | null> {
  const input: Record<string, unknown> = { ...inputFor(operation), ...words(operation), ...given };
  for (let tries = 0; tries < 8; tries++) {
    const key = { ...headersFor(operation.name), "Idempotency-Key": `${TOKEN}-${operation.name}-${tries}` };
    const { status, body } = await overRest(service, operation, input, key);
    if (status < 300) {
      stored.push(operation.name);
      return body;
    }
    if (status !== 400) return null;
    const refused = ((body.details ?? []) as { field: string }[]).map(({ field }) => field.split(/[.[]/)[0]!);
    if (refused.length === 0) return null;
    for (const field of refused) delete input[field];
  }
  return null;
}

/** A value with the token for each text, list of texts and free object that the operation takes. */
function words(operation: Operation): Record<string, unknown> {
  const kept = new Set<string>();
  for (const { table, erasure } of TRACES) {
    if (table !== operation.crud?.table.name || typeof erasure !== "object") continue;
    for (const column of erasure.kept) kept.add(column);
  }
  return Object.fromEntries(
    Object.entries(schemaOf(operation).properties ?? {}).flatMap(([name, schema]) => {
      const one =
        [schema, ...(schema.anyOf ?? [])].find(({ type }) => type !== undefined && type !== "null") ?? {};
      const value = kept.has(name) ? undefined : (PERSON[name] ?? word(one as Field));
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

type Field = {
  type?: string;
  enum?: unknown;
  const?: unknown;
  format?: string;
  items?: Field;
  maxLength?: number;
};

function word({ type, enum: listed, const: fixed, format, items, maxLength = 1000 }: Field): unknown {
  if (listed || fixed !== undefined || format) return undefined;
  if (type === "string") return maxLength < TOKEN.length ? undefined : TOKEN;
  if (type === "array" && items?.type === "string" && word(items) !== undefined) return [TOKEN];
  if (type === "object") return { note: `said ${TOKEN}` };
  return undefined;
}

const PERSON: Record<string, unknown> = {
  email: EMAIL,
  phone: PHONE,
  address: EMAIL,
  birth_date: "1970-01-02",
  first_name: `Ana ${TOKEN}`,
  last_name: `Test ${TOKEN}`,
};

/** Operations that are told about a player or an address, and are no end of it. */
function aboutPersons(): Operation[] {
  return [...CATALOG.operations.values()].filter((operation) => {
    const { name, access, effect, crud } = operation;
    if (access !== "property" || effect === "read" || OWN_WAYS.has(name)) return false;
    if (crud?.verb === "delete" || name === "create_player") return false;
    const fields = Object.keys(operation.input.shape);
    return (
      fields.some((field) => field === "email" || field === "phone" || field === "address") ||
      idFields(operation).some(({ field }) => pointsTo(operation, field)?.name === "players")
    );
  });
}

/** Told by the test itself, or the end of the story. */
const OWN_WAYS = new Set(["data_deletion", "create_self_exclusion", "consent_revoke"]);

/** Rows of every table in which one of the texts stands, as bytes too. */
async function findings(texts: string[]): Promise<string[]> {
  const tables = [...new Set((await columnsIn(admin)).map(({ table }) => table))];
  const found: string[] = [];
  for (const table of tables) {
    const rows = await admin<{ text: string }[]>`select t::text as text from ${admin(table)} t`;
    for (const { text } of rows) {
      const hit = texts.find((one) => text.toLowerCase().includes(one));
      if (hit) found.push(`${table}: ${hit} in ${text.slice(0, 400)}`);
    }
  }
  return found;
}

function tellingTexts(): string[] {
  const plain = [TOKEN, PHONE.slice(2)];
  const hashes = [EMAIL, PHONE, TOKEN].flatMap((address) =>
    ["sha256", "sha1", "md5"].map((kind) => createHash(kind).update(address).digest("hex")),
  );
  return [...plain, ...plain.map((text) => Buffer.from(text).toString("hex")), ...hashes];
}

async function tellEverything(player: { id: string }): Promise<void> {
  const propertyId = service.tenant.id;
  for (const operation of aboutPersons()) {
    const ids = idFields(operation).flatMap(({ field, many }) => {
      if (field === operation.property) return [[field, propertyId]];
      return pointsTo(operation, field)?.name === "players" ? [[field, many ? [player.id] : player.id]] : [];
    });
    await tell(operation, Object.fromEntries(ids));
  }
  for (const channel of ["sms", "email", "voice", "push"]) {
    await service.post(
      "/api/functions/consent-record",
      {
        propertyId,
        playerId: player.id,
        channel,
        consentGiven: true,
        consentSource: TOKEN,
        consentText: TOKEN,
        consentVersion: TOKEN,
      },
      headersFor(`consent-${channel}`),
    );
  }
  for (const who of [{ playerId: player.id }, { email: EMAIL }, { phone: PHONE }]) {
    const told = { propertyId, ...who, reason: TOKEN, consentSource: TOKEN };
    const revoked = await service.post("/api/functions/consent-revoke", told, {
      ...headersFor("revoke"),
      "Idempotency-Key": `${TOKEN}-revoke-${Object.keys(who)[0]}`,
    });
    expect(revoked.status).toBe(200);
  }
  await service.post(
    "/api/segments",
    { name: `only ${EMAIL}`, conditions: [{ field: "email", operator: "eq", value: EMAIL }] },
    headersFor("segment"),
  );
  // Former values stand in the audit log, refused rows beside the import, files where nobody imports them.
  await service.request("PATCH", `/api/players/${player.id}`, {
    body: { email: `new${EMAIL}`, tier: TOKEN },
    headers: headersFor("patch"),
  });
  await service.request("PATCH", `/api/players/${player.id}`, {
    body: { email: EMAIL },
    headers: headersFor("patch-back"),
  });
  const form = new FormData();
  const csv = `player_id,Mail,Phone,Note,adt\n${TOKEN}-1,${EMAIL},${PHONE},${TOKEN},many\nx,${EMAIL.toUpperCase()},12,${TOKEN},1\n`;
  form.set("file", new File([csv], `${TOKEN}.csv`));
  form.set("params", JSON.stringify({ mapping: { Mail: "email", Phone: "phone" } }));
  const sent = await service.request("POST", "/api/import_jobs", {
    body: form,
    headers: { "Content-Type": null },
  });
  expect(sent.status).toBe(202);
  await service.idle();
  const upload = { propertyId, id: randomUUID(), filename: `${TOKEN}.csv` };
  await receiveFile(
    service.internals.db,
    upload,
    (async function* () {
      yield Buffer.from(csv);
    })(),
  );
}

/** A vendor's notices about the person, and a test to them: work that is in a state. */
async function work(state: "running" | "dead"): Promise<Lease[]> {
  const notice = { kind: "bounced", eventId: randomUUID(), at: new Date().toISOString(), permanent: true };
  const about = { ...notice, message: `550 <${EMAIL}> unknown`, providerMessageId: TOKEN };
  const inputs = {
    receive_notices: {
      providerId: randomUUID(),
      notices: [EMAIL, PHONE].map((address) => ({ ...about, address })),
    },
    send_test: { sendId: randomUUID(), to: EMAIL, playerId: null },
  };
  const jobs = Object.entries(inputs).map(([name, input]) => ({ name, input }));
  return [
    ...(await admin<Lease[]>`
      insert into queue (id, name, property_id, input, max_attempts, attempts, state, lease, leased_until)
      select uuid_v7(), name, ${service.tenant.id}, input, 1, 1, ${state}, gen_random_uuid(), now() + interval '1 hour'
      from jsonb_to_recordset(${jobs as never}::jsonb) as j(name text, input jsonb) returning id, lease`),
  ];
}

async function write(player: { id: string }): Promise<void> {
  const propertyId = service.tenant.id;
  const campaign = await service.post("/api/campaigns", {
    name: "Canary",
    channel: "email",
    subject: "Hello {{ first_name }}",
    body_html: "<p>{{ last_name }}</p>",
    conditions: [{ field: "email", operator: "eq", value: EMAIL }],
  });
  await service.call("update_property", { propertyId, email_consent_mode: "opt_out" });
  await service.post("/api/functions/send-campaign", { propertyId, campaignId: campaign.body.id });
  await service.idle();
  const [mail] = await admin`select count(*)::int as mails from mailbox_messages where recipient = ${EMAIL}`;
  expect(mail!.mails, `a message to ${player.id}`).toBeGreaterThan(0);
}

test("of a person who was erased, no word is left in any table, answer, file, job, callback or log", async () => {
  const propertyId = service.tenant.id;
  const { port } = echo.address() as AddressInfo;
  await service.post("/api/webhook_endpoints", {
    url: `http://127.0.0.1:${port}/`,
    events: ["*"],
    include_pii: true,
  });
  await service.post("/api/custom_fields", { key: "note", label: "Note", type: "text", is_pii: true });
  const create = CATALOG.operations.get("create_player")!;
  const player = (await tell(create, { player_id: TOKEN })) as { id: string };
  expect(player).toMatchObject({ email: EMAIL, phone: PHONE, player_id: TOKEN });
  await write(player);
  await tellEverything(player);
  await tell(CATALOG.operations.get("create_self_exclusion")!, { player_id: player.id });
  await service.idle();
  await work("dead");
  const before = await findings([TOKEN]);
  const known = new Set(before.map((line) => line.split(":")[0]!));
  expect([...known].sort()).toEqual(expect.arrayContaining(WANTED));
  expect(stored.length).toBeGreaterThan(8);

  const { status, body } = await service.post("/api/functions/data-deletion", {
    propertyId,
    playerId: player.id,
    reason: `because ${TOKEN} asked`,
  });
  expect(status).toBe(200);
  expect(await findings(tellingTexts())).toEqual([]);
  expect(JSON.stringify(body)).not.toContain(TOKEN);
  await admin`update queue set run_at = now() where name = 'finish_erasure'`;
  service.internals.wake();
  await service.idle();
  expect(await findings(tellingTexts())).toEqual([]);
  const verified = await service.post("/api/functions/verify-ledger", { propertyId });
  expect(verified.body).toMatchObject({ intact: true });

  // A later notice of a vendor is given up in the end, and kept to be looked into.
  const [failing, ...lost] = await work("running");
  await fail(service.internals.db, failing!, { error: "gone", interrupted: false });
  await admin`update queue set leased_until = now() where id in ${admin(lost.map(({ id }) => id))}`;
  await reap(service.internals.db);
  const dead = await admin`select from queue where state = 'dead'`;
  expect(dead).toHaveLength(2);

  await returning();
  expect(await findings(tellingTexts())).toEqual([]);
  expect(logged.filter((line) => line.includes(TOKEN) || line.includes(PHONE.slice(2)))).toEqual([]);
});

/** The person turns up again: nothing is kept but the hashes that are there already. */
async function returning(): Promise<void> {
  const propertyId = service.tenant.id;
  expect((await service.post("/api/players", { email: EMAIL, first_name: TOKEN })).status).toBe(409);
  await service.post("/api/functions/consent-revoke", { propertyId, email: EMAIL });
  await service.post("/api/suppressions", { channel: "sms", address: PHONE });
  await service.post("/api/dnc_entries", { phone: PHONE });
  const csv = `email,phone,first_name\n${EMAIL},,${TOKEN}\n${EMAIL},nonsense,${TOKEN}\n`;
  const job = await service.post("/api/import_jobs", { csv });
  await service.idle();
  expect((await service.get(`/api/import_jobs/${job.body.id}`)).body).toMatchObject({
    status: "completed",
    failed: 2,
  });
}

/** Where the token must have been, for the search to mean something. */
const WANTED = [
  "audit_logs",
  "consent_records",
  "idempotency_records",
  "import_errors",
  "mailbox_messages",
  "outbox",
  "players",
  "queue",
  "segments",
  "suppressions",
  "uploads",
  "webhook_deliveries",
];
