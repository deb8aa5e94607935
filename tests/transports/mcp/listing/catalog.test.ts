import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { conciseColumns, readableOf } from "#runtime/operation/columns.ts";
import type { Actor, Scope } from "#runtime/operation/context.ts";
import { CATALOG } from "#tools/catalog.ts";
import { askedFor } from "#transports/mcp/listing/asked-words.ts";
import { FIRST_TOOLS } from "#transports/mcp/listing/first-tools.ts";
import { wordsOf } from "#transports/mcp/listing/query-words.ts";
import { surfaces } from "#transports/mcp/listing/visible-tools.ts";
import { BY_CALL_TOOL, guide } from "#transports/mcp/resources/guide.ts";
import { isFull } from "../../../support/proof-size.ts";
import { REQUESTS } from "./requests.ts";

const made = surfaces(CATALOG);
const propertyId = "0195a1b2-0000-7000-8000-000000000001";

function surface(scopes: Scope[], toolsets: "all" | null = null) {
  const actor: Actor = { type: "api_key", id: propertyId, propertyId, scopes, rateLimit: 100 };
  return made.of(
    { actor, transport: "mcp", requestId: "r" },
    { toolsets, readOnly: false, exclude: [], masked: false },
  );
}

test("the first list that an agent reads fits in 25 tools and 7,800 tokens", () => {
  const { listed, listedJson } = surface(["read", "write"]);
  const tokens = countTokens(listedJson);
  process.stdout.write(`tools/list: ${listed.length} tools, ${tokens} tokens of o200k\n`);
  expect(listed.length).toBeLessThanOrEqual(25);
  const sizes = listed.map((tool) => [countTokens(JSON.stringify(tool)), tool.name] as const);
  const longest = sizes.toSorted(([a], [b]) => b - a).slice(0, 4);
  expect(
    tokens,
    `Shorten the descriptions of fields in these tools, or take a tool out of FIRST_TOOLS (transports/mcp/listing/first-tools.ts). The longest: ${longest.map(([size, name]) => `${name} ${size}`).join(", ")}.`,
  ).toBeLessThanOrEqual(7_800);
});

test("a list shows agents, without being asked, some of its columns, and not all of a wide one", () => {
  for (const [name, table] of CATALOG.tables) {
    const known = Object.keys(readableOf(table).columns);
    const concise = conciseColumns(table);
    expect(known, name).toEqual(expect.arrayContaining(concise ?? []));
    if (known.length > 20) expect(concise?.length, name).toBeLessThan(known.length * 0.7);
  }
});

test("the fifteen longest tools that search_tools could find fit in one result of 20,000 tokens, schemas and all", () => {
  const found = surface(["read", "write"], "all").listed.map(({ outputSchema: _, ...text }) =>
    JSON.stringify(text),
  );
  const longest = found.toSorted((a, b) => b.length - a.length).slice(0, 15);
  expect(countTokens(longest.join(","))).toBeLessThanOrEqual(20_000);
});

/** The regular expressions of a schema, however deep. */
function patternsOf(schema: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(schema, (key, value) => {
    if (key === "pattern" && typeof value === "string") found.push(value);
    return value;
  });
  return found;
}

test("every operation has a title, a description and schemas that compile", () => {
  const validator = new AjvJsonSchemaValidator();
  const dialect = new Ajv2020({ strict: false });
  const { listed } = surface(["read", "write"], "all");
  for (const [index, { name, title, description, inputSchema, outputSchema }] of listed.entries()) {
    expect(title && description, name).toBeTruthy();
    for (const schema of [inputSchema, outputSchema]) {
      expect(dialect.validateSchema(schema as never), name).toBe(true);
      for (const pattern of patternsOf(schema)) expect(() => new RegExp(pattern, "u"), name).not.toThrow();
      // To compile them is most of this file's work, and they are made by one function.
      if (!isFull && index % 6 !== 0) continue;
      expect(() => validator.getValidator(schema as never), name).not.toThrow();
    }
  }
});

const PHRASES = [
  ["win back lapsed gold players without annoying anybody", "create_journey_from_recipe"],
  ["re-engage inactive players over several weeks", "create_journey_from_recipe"],
  ["try a journey before it starts", "simulate_journey"],
  ["make a spin wheel game", "create_game"],
  ["check that a draw was fair", "verify_game_play"],
  ["pause a running campaign", "pause_campaign"],
  ["how many opened the campaign", "campaign_stats"],
  ["upload a csv of players", "create_import_job"],
  ["see why my import failed", "list_import_errors"],
  ["make a segment of gold players", "create_segment"],
  ["count how many match a condition", "segment_preview"],
  ["copy a campaign", "duplicate_campaign"],
  ["send it now", "send_campaign"],
  ["schedule for tomorrow", "schedule_campaign"],
  ["may we text this phone", "compliance_check"],
  ["explain why a player may not be contacted", "explain_eligibility"],
  ["self exclude a player", "create_self_exclusion"],
  ["put a number on the do not call list", "create_dnc_entry"],
  ["add a webhook", "create_webhook_endpoint"],
  ["resend a webhook", "redeliver_webhook"],
  ["change the webhook secret", "rotate_webhook_secret"],
  ["what was sent to the mailbox", "list_mailbox_messages"],
  ["audit history", "list_audit_logs"],
  ["cancel a campaign", "cancel_campaign"],
  ["check a campaign before sending", "preflight_campaign"],
  ["create an email template", "create_template"],
  ["revoke consent", "consent_revoke"],
  ["record consent", "consent_record"],
  ["who did what", "list_audit_logs"],
  ["list failed deliveries", "list_webhook_deliveries"],
  ["edit a player's email", "update_player"],
  ["find players with a high adt", "list_players"],
  ["unsubscribe a guest", "consent_revoke"],
  ["look up one customer", "get_player"],
  ["erase a person", "data_deletion"],
  ["give someone a copy of all their data", "data_export"],
  ["text a campaign", "send_sms_campaign"],
  ["download players as a spreadsheet", "export_players"],
  ["define a custom field", "create_custom_field"],
  ["record that a player did something", "create_player_event"],
  ["set quiet hours", "create_quiet_hours_rule"],
  ["limit how many messages a week", "create_frequency_rule"],
  ["add an email provider", "create_message_provider"],
  ["block an email address", "create_suppression"],
  ["who is suppressed", "list_suppressions"],
  ["resume the campaign", "resume_campaign"],
  ["unschedule a campaign", "unschedule_campaign"],
  ["delete a segment", "delete_segment"],
  ["which templates are there", "list_templates"],
  ["who got the campaign", "list_campaign_sends"],
  ["is the import done", "get_import_job"],
  ["what is in the inbox of players", "list_inbox_messages"],
  ["send a test event to my webhook", "test_webhook"],
  ["replay missed webhooks", "replay_webhooks"],
  ["history of a player's consent", "list_consent_records"],
  ["new player", "create_player"],
  ["preflight", "preflight_campaign"],
  ["save an audience", "create_segment"],
  ["call players by phone", "create_campaign"],
  ["robocall my gold players", "create_campaign"],
  ["AI call", "create_campaign"],
] as const;

test("a task in everyday words finds its tool among the first three, nine times of ten", () => {
  const { search } = surface(["read", "write"]);
  const missed = PHRASES.filter(
    ([phrase, tool]) => !search(phrase, 3).found.some(({ operation }) => operation.name === tool),
  );
  expect(missed.length, missed.map(([phrase]) => phrase).join("; ")).toBeLessThanOrEqual(PHRASES.length / 10);
});

test("of 244 requests in people's words six of seven find the right tool first, and nineteen of twenty among three", () => {
  const { search } = surface(["read", "write"]);
  const places = REQUESTS.map(([request, ...tools]) =>
    search(request, 3).found.findIndex(({ operation }) => tools.includes(operation.name)),
  );
  const first = places.filter((place) => place === 0).length / REQUESTS.length;
  const amongThree = places.filter((place) => place >= 0).length / REQUESTS.length;
  process.stdout.write(`search_tools: first ${first.toFixed(3)}, among three ${amongThree.toFixed(3)}\n`);
  expect(first).toBeGreaterThanOrEqual(0.86);
  expect(amongThree).toBeGreaterThanOrEqual(0.95);
});

test.each([
  ["who opted out last week", "list_consent_records"],
  ["Which players unsubscribed yesterday?", "list_consent_records"],
  ["who said stop this month", "list_consent_records"],
  ["when did she withdraw her consent", "list_consent_records"],
  ["who was deleted today", "list_audit_logs"],
  ["who was banned", "list_audit_logs"],
  ["when was the campaign paused", "list_audit_logs"],
  ["which journeys are archived", "list_journeys"],
])(
  "the question “%s” finds %s first, and no tool that changes something before one that reads",
  (request, tool) => {
    const { found } = surface(["read", "write"]).search(request, 5);
    const changes = found.map(({ operation }) => operation.effect !== "read");
    expect([found[0]?.operation.name, changes]).toEqual([tool, [...changes].sort()]);
  },
);

test("a request by a tool's name finds that tool first", () => {
  const { reach, search } = surface(["read", "write"]);
  const all = [...reach.keys()];
  expect(new Set(all.map((name) => wordsOf(name).join(" "))).size).toBe(all.length);
  const names = all.filter((_, at) => isFull || at % 3 === 0);
  const missed = names.filter((name) => search(name, 1).found[0]?.operation.name !== name);
  expect(missed).toEqual([]);
});

test.each([
  ["dnc entries", "list_dnc_entries"],
  ["webhook secret", "rotate_webhook_secret"],
  ["redeliver", "redeliver_webhook"],
  ["reach", "segment_reach"],
  ["exit", "exit_players"],
])("a request by the part “%s” of a name finds %s first", (request, tool) => {
  const [first] = surface(["read", "write"]).search(request, 1).found;
  expect(first?.operation.name).toBe(tool);
});

test.each<[string, Scope[], [string, string][]]>([
  ["send_campaign", ["read"], [["send_campaign", "write"]]],
  ["approve_proposal", ["read", "write"], [["approve_proposal", "write"]]],
  ["list_platform_audit_logs", ["read", "write"], [["list_platform_audit_logs", "read"]]],
  ["list_players", ["read", "write"], []],
])("a search for %s with %j names the withheld %j", (request, scopes, expected) => {
  const { reach, search } = surface(scopes);
  const { found, withheld } = search(request, 15);
  const names = withheld.map(({ operation: { name, scope } }) => [name, scope]);
  expect(names).toEqual(expect.arrayContaining(expected));
  expect(expected.length > 0 || names.length === 0).toBe(true);
  expect(found.filter(({ operation }) => !reach.has(operation.name))).toEqual([]);
});

test.each([
  "undo",
  "I removed a customer by mistake",
  "recover a deleted guest",
  "revert the erasure",
  "restore what was deleted by accident",
  "bring back the player that we deleted",
])("for “%s” no tool that destroys or reaches people stands before a harmless one", (request) => {
  const { found } = surface(["read", "write"]).search(request, 5);
  const graves = found.map(({ operation }) => ["destroy", "contact"].includes(operation.effect));
  expect(graves).toEqual([...graves].sort());
});

test("every tool that the guide names is listed, and every listed one is a tool", () => {
  const { listed, ...rest } = surface(["read", "write"]);
  const names = listed.map(({ name }) => name);
  const parts = guide({ listed, ...rest }).split("\n## ");
  const listing = parts.filter((part) => !part.includes(BY_CALL_TOOL)).join("\n");
  expect(listing.length).toBeLessThan(parts.join("\n").length);
  const told = [...listing.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name!);
  const tools = told.filter((name) => CATALOG.operations.has(name));
  expect(tools.length).toBeGreaterThan(10);
  expect(names).toEqual(expect.arrayContaining(tools));
  expect([...FIRST_TOOLS].filter((name) => !CATALOG.operations.has(name))).toEqual([]);
});

test("every tool has the words by which people ask for it", () => {
  const { reach } = surface(["read", "write"]);
  const without = [...reach.keys()].filter(
    (name) => askedFor(CATALOG.operations.get(name)!).phrases.length === 0,
  );
  expect(without).toEqual([]);
});
