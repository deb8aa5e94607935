import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { columnsOf } from "#runtime/operation/columns.ts";
import { CATALOG } from "#tools/catalog.ts";
import { httpRequest } from "../../support/http-request.ts";
import { isFull } from "../../support/proof-size.ts";
import type { Admin } from "../../support/schema.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Planted, plantRows } from "../planted-rows.ts";
import { withoutRandom } from "./canary.ts";

/**
 * Words of the house, of the service, or of vendors, and codes: they are about no one player, or say nothing of who
 * that is. Masked answers show them. A text that is not named here is masked, and cannot be guessed.
 */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  audit_logs: ["action", "client", "entity", "request_id"],
  campaign_sends: [
    "address_masked",
    "channel",
    "error_code",
    "node_id",
    "provider",
    "provider_message_id",
    "skip_reasons",
    "variant_id",
  ],
  campaigns: [
    "ab_result",
    "ab_test",
    "approved",
    "body_html",
    "body_mjml",
    "body_text",
    "conditions",
    "from_email",
    "from_name",
    "game_ticket",
    "goal",
    "inbox",
    "journey_node",
    "name",
    "preheader",
    "reply_to",
    "stats",
    "status_reason",
    "subject",
    "tags",
    "utm",
    "voice_script",
  ],
  code_pools: ["name"],
  consent_records: [
    "collection_method",
    "consent_source",
    "consent_text_sha256",
    "consent_version",
    "jurisdiction",
    "purpose",
  ],
  custom_fields: ["enum_values", "key", "label"],
  dnc_entries: ["source", "state"],
  frequency_rules: ["source_note", "tag"],
  game_laws: ["country", "source_note", "state"],
  game_plays: ["entry", "odds_snapshot", "redeemed_where", "server_seed_hash"],
  game_prizes: ["label"],
  game_tickets: ["key"],
  games: [
    "approved",
    "cost",
    "description",
    "free_entry_url",
    "master_seed",
    "name",
    "odds",
    "play_limits",
    "reset_timezone",
    "rules_text",
    "rules_url",
    "server_seed_hash",
    "share_reward",
    "sponsor",
    "status_reason",
    "void_in",
  ],
  import_jobs: ["error", "errors_url", "params", "status_url", "summary"],
  inbound_messages: ["matched", "provider", "provider_message_id", "reply_text"],
  inbox_messages: ["category", "image_url"],
  journey_enrollments: ["exit_reason"],
  journey_versions: [
    "channels",
    "definition",
    "definition_hash",
    "exit_conditions",
    "goal",
    "published_by_type",
    "reentry",
  ],
  journeys: [
    "description",
    "draft_definition",
    "exit_conditions",
    "goal",
    "name",
    "reentry",
    "status_reason",
  ],
  mailbox_messages: ["channel", "sender"],
  message_providers: ["from_address", "kind", "last_error", "name"],
  player_events: ["external_id", "name", "source"],
  players: [
    "consent_expiries",
    "consent_levels",
    "consents",
    "country",
    "language",
    "phone_type",
    "player_id",
    "state",
    "tags",
    "tier",
    "timezone",
  ],
  privacy_requests: ["regulation", "result"],
  proposals: ["client", "proposed_by", "reason", "reasons", "result", "shown_hash", "tool"],
  push_subscriptions: ["public_key"],
  quiet_hours_rules: ["source_note"],
  segments: ["conditions", "description", "groups", "name"],
  self_exclusions: ["jurisdiction", "program", "source"],
  sms_keywords: ["language", "text"],
  social_shares: ["content_id", "network", "share_url"],
  suppressions: ["source"],
  templates: ["html", "mjml", "name", "subject", "text", "variables", "voice_script"],
  validation_jobs: ["error", "params", "result_url", "status_url", "summary"],
  voice_calls: ["error_code", "persona", "provider", "provider_call_id"],
  voice_laws: ["source_note"],
  webhook_deliveries: ["event_type"],
  webhook_endpoints: ["description", "disabled_reason", "events", "url"],
};

const LISTS = [...CATALOG.tables.values()].filter(({ verbs }) => verbs.includes("list"));
const WORD = "Zyxcanary";

/** Values of the form that the column has, with what must not be seen of them. */
const SHAPED: Readonly<Record<string, unknown>> = {
  "players.email": `${WORD}@example.com`,
  "players.phone": "+17025550123",
  "dnc_entries.phone": "+17025550123",
  "inbound_messages.sender": "7025550123",
  "inbound_messages.recipient": "7025550123",
  "mailbox_messages.recipient": `${WORD}@example.com`,
  "suppressions.address": `${WORD}@example.com`,
  "proposals.decided_by_email": `${WORD}@example.com`,
  "proposals.sentences": [`Lift the refusal of the player "A-1", "${WORD} \\"Z\\" ${WORD}".`],
  "proposals.title": `Change the player "A-1", "${WORD} ${WORD}"`,
  "proposals.input": { firstName: WORD, custom: { any: [WORD] }, consentText: WORD },
  "audit_logs.diff": {
    last_name: WORD,
    custom: { any: WORD },
    note: WORD,
    properties: { any: { of: WORD } },
  },
  "voice_calls.transcript": [{ text: WORD, fixed: null }],
  "webhook_deliveries.attempts": [{ error: null, response_snippet: WORD }],
  "campaign_sends.error_message": `no such number: 1 (702) 555-0123 for ${WORD}@example.com`,
  "voice_calls.error_message": "17025550123 does not answer",
  "inbound_messages.reply_error": "7025550123 has opted out",
};
const UNSEEN = new RegExp(`${WORD}|702.{0,2}555`, "i");

let service: TestService;
let admin: Admin;
let own: Planted;

beforeAll(async () => {
  // Without a worker, so that what is planted stays as it is.
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  own = await plantRows(admin, service.tenant.id);
  await admin`update properties set mask_for_analysts = true where id = ${service.tenant.id}`;
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

interface Text {
  table: string;
  column: string;
  type: string;
}

/** Columns of lists that may hold a word that nobody has thought of. */
async function texts(): Promise<Text[]> {
  const found: Text[] = [];
  for (const table of LISTS) {
    const types = await admin<{ column: string; type: string }[]>`
      select attname as column, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = ${table.name}::regclass and attnum > 0`;
    const answered = columnsOf(table);
    for (const { column, type } of types) {
      if (!/^(?:text|character|jsonb?)/.test(type) || !Object.hasOwn(answered, column)) continue;
      if (!Object.hasOwn(answered[column]!, "sql")) found.push({ table: table.name, column, type });
    }
  }
  return found;
}

/** Runs work while the planted record has the word in the column, where the table's checks take one. */
async function holding({ table, column, type }: Text, work: () => Promise<void>): Promise<void> {
  const id = own.get(table)!.id as string;
  const [before] = await admin`select ${admin(column)} as held from ${admin(table)} where id = ${id}`;
  const write = (value: unknown) =>
    admin.begin(async (sql) => {
      // The word points nowhere, and may stand in rows that take no changes.
      await sql`set local session_replication_role = replica`;
      await sql`update ${sql(table)} set ${sql({ [column]: value } as never)} where id = ${id}`;
    });
  const word = /json/.test(type) ? { said: WORD } : type.endsWith("[]") ? [WORD] : WORD;
  const isTaken = await write(SHAPED[`${table}.${column}`] ?? word).then(
    () => true,
    () => false,
  );
  if (!isTaken) return;
  try {
    await work();
  } finally {
    await write(before!.held);
  }
}

/** A user's requests in a minute are limited. */
const EACH = 200;
let asked = 0;
let Authorization: string;

/** Asked without a look at the schemas: the word has not the form that most columns have. */
async function ask(path: string): Promise<{ status: number; said: string }> {
  if (asked++ % EACH === 0) Authorization = `Bearer ${(await service.signIn({ role: "analyst" })).token}`;
  const { status, text } = await httpRequest(service.baseUrl + path, {
    method: "GET",
    headers: [["Authorization", Authorization]],
  });
  return { status, said: text };
}

/** Every other one, of the next column the others; all with PROOF=full. */
function part<T>(turn: number, whole: T[]): T[] {
  return whole.filter((_, index) => isFull || index % 2 === turn % 2);
}

test("a text of a listed table is masked and cannot be guessed, unless it is named as harmless", async () => {
  const shown: string[] = [];
  const guessed: string[] = [];
  for (const [turn, text] of (await texts()).entries()) {
    const { table, column } = text;
    const id = own.get(table)!.id as string;
    const name = `${table}.${column}`;
    await holding(text, async () => {
      const told: string[] = [];
      const list = `/api/${table}`;
      for (const path of [list, ...part(turn, [`${list}/${id}`, `${list}?select=${column}`])]) {
        const { status, said } = await ask(path);
        expect(status, path).toBe(200);
        told.push(said);
      }
      if (told.some((said) => UNSEEN.test(withoutRandom(said)))) {
        shown.push(name);
        return;
      }
      const filters = [
        `${column}.like=Zyx*`,
        `${column}=ilike.zyx*`,
        `not.or=(${column}.gt.Zyw)`,
        `order=${column}.asc`,
        ...(/json/.test(text.type)
          ? [`${column}.any.like=Zyx*`, `${column}->>any=gt.Zyw`, `${column}.cs={"any":"${WORD}"}`]
          : []),
      ];
      for (const filter of part(turn, filters)) {
        const { status, said } = await ask(`/api/${table}?${filter}`);
        const refused = status === 400 && /masked for you|does not fit|has no order/.test(said);
        if (!refused) guessed.push(`${table}?${filter}: ${said}`);
      }
    });
  }
  const named = Object.entries(SHOWN).flatMap(([table, columns]) => columns.map((one) => `${table}.${one}`));
  expect(
    shown.sort(),
    "Name it in runtime/masking/values.ts, give its column `rendered: true`, or name it in SHOWN here.",
  ).toEqual(named.sort());
  expect(guessed).toEqual([]);
}, 120_000);
