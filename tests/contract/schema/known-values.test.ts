import { afterAll, beforeAll, expect, test } from "vitest";
import { columnsOf, readableOf } from "#runtime/operation/columns.ts";
import { CATALOG } from "#tools/catalog.ts";
import { startService, type TestService } from "../../support/service.ts";

/** Names, identifiers, addresses of the web and free texts: a list that is empty for one of them needs no reason. */
const OPEN: Readonly<Record<string, readonly string[]>> = {
  campaign_sends: ["variant_id", "address_masked", "provider_message_id", "error_message"],
  campaigns: [
    ...["name", "status_reason", "subject", "preheader", "from_name", "from_email", "reply_to"],
    ...["body_html", "body_mjml", "body_text"],
  ],
  code_pools: ["name"],
  consent_records: ["consent_text", "user_agent"],
  custom_fields: ["key", "label", "enum_values"],
  dnc_entries: ["note"],
  frequency_rules: ["source_note"],
  game_laws: ["source_note"],
  game_plays: ["client_seed", "redeemed_by", "redeemed_where", "void_reason"],
  game_prizes: ["label"],
  game_tickets: ["key"],
  games: [
    ...["name", "description", "status_reason", "sponsor", "rules_url", "free_entry_url", "master_seed"],
    ...["rules_text", "server_seed_hash"],
  ],
  import_jobs: ["status_url", "error", "errors_url", "result_url"],
  inbound_messages: ["provider_message_id", "text", "reply_text", "reply_error"],
  inbox_messages: ["title", "body", "image_url", "cta_label", "cta_url"],
  journey_enrollments: ["entry_key"],
  journeys: ["name", "description", "status_reason"],
  mailbox_messages: ["sender", "subject", "text", "html"],
  message_providers: ["name", "from_address", "last_error", "callback_path"],
  player_events: ["external_id"],
  players: ["player_id", "first_name", "last_name", "postal_code"],
  privacy_requests: ["note"],
  proposals: ["title", "sentences", "reasons", "decided_by_email", "reason"],
  push_subscriptions: ["endpoint_host", "public_key", "user_agent"],
  quiet_hours_rules: ["source_note"],
  segments: ["name", "description"],
  self_exclusions: ["external_ref"],
  sms_keywords: ["text", "note"],
  social_shares: ["content_id", "share_url"],
  templates: ["name", "subject", "html", "mjml", "text"],
  validation_jobs: ["status_url", "error", "result_url"],
  voice_calls: ["provider_call_id", "error_message"],
  voice_laws: ["source_note"],
  webhook_endpoints: ["url", "description"],
  audit_logs: ["request_id"],
};

/** Columns that hold any text in their form, such as a sender's name beside phone numbers. */
const ANY_TEXT = ["an address", "a state"];

interface Text {
  table: string;
  column: string;
  isList: boolean;
  wants: string | undefined;
  isVocabulary: boolean;
}

const TEXTS: Text[] = [...CATALOG.tables.values()].flatMap((table) =>
  Object.entries(readableOf(table).columns).flatMap(([column, { type, form }]) => {
    if (type !== "text" && type !== "text[]") return [];
    const isVocabulary = columnsOf(table)[column]!.vocabulary === true;
    return [{ table: table.name, column, isList: type === "text[]", wants: form?.wants, isVocabulary }];
  }),
);

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const asked = ({ table, column, isList }: Text) =>
  service.get(`/api/${table}?${column}.${isList ? "cs={Zz9 zz}" : "eq=Zz9 zz"}`);

test("every text of a listed table has a form, known values, or is named as an open text", () => {
  const unnamed = TEXTS.filter((one) => one.wants === undefined && !one.isVocabulary);
  const named = Object.entries(OPEN).flatMap(([table, columns]) => columns.map((one) => `${table}.${one}`));
  expect(
    unnamed.map(({ table, column }) => `${table}.${column}`).sort(),
    "A text with few values gets `vocabulary: true` at its column, or an enum. Name any other text in OPEN here.",
  ).toEqual(named.sort());
});

const closed = TEXTS.filter(({ wants }) => wants !== undefined && !ANY_TEXT.includes(wants));
test.each(closed)("a value that $column of $table never has is refused with the values", async (text) => {
  const { status, body } = await asked(text);
  expect([status, body.error]).toEqual([400, expect.stringContaining(text.wants!.slice(0, 60))]);
});

test.each(TEXTS.filter(({ isVocabulary, wants }) => isVocabulary && (!wants || ANY_TEXT.includes(wants))))(
  "an empty list by a value that $column of $table has nowhere says so",
  async (text) => {
    const { status, body, headers } = await asked(text);
    expect([status, body]).toEqual([200, []]);
    const [said] = JSON.parse(headers.get("X-Warnings") ?? "[]") as string[];
    expect(said).toContain(`${text.column}: nothing here has "`);
  },
);

test("a misspelt reason and a misspelt action are told apart from an empty list", async () => {
  const { status, body } = await service.get("/api/campaign_sends?skip_reasons.cs={no_consnt}");
  expect([status, body.error]).toEqual([400, expect.stringContaining("no_consent")]);
  for (const filter of ["ov={no_consent,Dnc}", "cd={no_consent}", "eq={holdout}", "not.cs={ab_test}"]) {
    expect((await service.get(`/api/campaign_sends?skip_reasons.${filter}`)).status, filter).toBe(200);
  }
  await service.post("/api/players", { player_id: "p1" });
  const { headers } = await service.get("/api/audit_logs?action.eq=foo");
  const [said] = JSON.parse(headers.get("X-Warnings")!) as string[];
  expect(said).toMatch(/^action: nothing here has "foo"; there are .*"create_player"/);
});
