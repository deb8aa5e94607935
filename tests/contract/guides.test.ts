import { existsSync, readdirSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { marked, type Token, type Tokens } from "marked";
import { describe, expect, test } from "vitest";
import { PROVIDERS } from "#runtime/channels/index.ts";
import { settings } from "#runtime/config.ts";
import { EVENTS } from "#runtime/operation/events.ts";
import { CATALOG } from "#tools/catalog.ts";
import { BLOCK_REASONS } from "#tools/compliance/gate.ts";
import { DEFER_REASONS } from "#tools/compliance/hours.ts";
import { KINDS } from "#tools/journeys/nodes/all.ts";
import { FAMILIES } from "#tools/segments/rules/fields.ts";
import { OPERATOR_NAMES } from "#tools/segments/rules/operators.ts";
import { flagOf, GENERAL } from "#transports/cli/arguments.ts";
import { guides } from "#transports/docs/guides.ts";
import { openApi } from "#transports/openapi/document.ts";
import { anchorOf } from "#transports/pages/service/guides.ts";
import { ROOT, textOf } from "../support/checkout/source-files.ts";

const FOLDER = "transports/docs/guides/";

interface Written {
  path: string;
  markdown: string;
  tokens: Token[];
}

const PAGES: Written[] = ["README.md", ...guides().map(({ name }) => `${FOLDER}${name}.md`)].map((path) => {
  const markdown = textOf(path);
  return { path, markdown, tokens: marked.lexer(markdown) };
});

test("every file of the folder is a guide, and is listed once", () => {
  const files = readdirSync(new URL(FOLDER, ROOT)).sort();
  expect(
    guides()
      .map(({ name }) => `${name}.md`)
      .sort(),
  ).toEqual(files);
  const titles = guides().map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});

test("the README has at most 250 lines, and an agent can hold each guide", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(250);
  for (const { name, markdown } of guides()) expect(countTokens(markdown), name).toBeLessThan(18_000);
});

test("every link leads to a page and a heading that are there", () => {
  const broken = PAGES.flatMap(({ path, tokens }) =>
    linksOf(tokens).flatMap((href) => (isGood(path, href) ? [] : `${path}: ${href}`)),
  );
  expect(broken).toEqual([]);
  expect(PAGES.flatMap(({ tokens }) => linksOf(tokens)).length).toBeGreaterThan(30);
});

test("every docs:// address that is named can be read", () => {
  const known = ["docs://guide", ...guides().map(({ name }) => `docs://guides/${name}`)];
  const named = PAGES.flatMap(
    ({ markdown }) => markdown.match(/docs:\/\/[a-z-]+(?:\/[a-z-]+)*\b(?!\/)/g) ?? [],
  );
  expect(named.filter((uri) => !known.includes(uri))).toEqual([]);
  expect(named.length).toBeGreaterThan(1);
});

describe("every name in the guides exists:", () => {
  test("npm scripts", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    const named = PAGES.flatMap(({ markdown }) =>
      [...markdown.matchAll(/\bnpm run (?:-s )?([a-z]+)/g)].map(([, name]) => name!),
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    expect(named.length).toBeGreaterThan(50);
  });

  test("commands, with every flag that they are given", () => {
    const wrong = PAGES.flatMap(({ path, tokens }) =>
      codeOf(tokens).flatMap((code) => commandsIn(code).flatMap((one) => flawsOf(path, one))),
    );
    expect(wrong).toEqual([]);
    expect(commandsIn("npm run -s tool -- list-players --limt 3")).toEqual([
      { command: "list-players", flags: ["limt"], columns: [] },
    ]);
    const [chosen] = commandsIn("tool list-players --select id,nam --filter tir.eq=Gold");
    expect(flawsOf("x", chosen!)).toEqual(["x: list-players nam", "x: list-players tir"]);
    expect(flawsOf("x", { command: "list-players", flags: ["limt"] })).toEqual(["x: list-players --limt"]);
    expect(flawsOf("x", { command: "list-player", flags: [] })).toEqual(["x: list-player"]);
  });

  test("operations, in prose too", () => {
    const verbs = new Set([...CATALOG.operations.keys()].map((name) => name.split("_")[0]!));
    const wrong = PAGES.flatMap(({ path, tokens }) =>
      codeSpansOf(tokens)
        .filter((text) => /^[a-z]+([_-][a-z]+)+$/.test(text) && verbs.has(text.split(/[_-]/)[0]!))
        .map((text) => text.replaceAll("-", "_"))
        .filter((name) => !CATALOG.operations.has(name) && !NO_OPERATIONS.includes(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(
      wrong,
      "Write the operation's name. If it is the name of something else, add it to NO_OPERATIONS.",
    ).toEqual([]);
  });

  test("addresses of the API", () => {
    const { paths } = openApi(CATALOG, "http://127.0.0.1:8787") as { paths: Record<string, unknown> };
    const known = [...Object.keys(paths), "/api/mcp", "/api/mcp/server-card", "/api/openapi.json", "/api"];
    const wrong = PAGES.flatMap(({ path, markdown }) =>
      (markdown.match(/(?<![\w.])\/api(?:\/[a-z_.{}-]+)*/g) ?? [])
        .filter((address) => !/\{(table|name)\}/.test(address))
        .filter((address) => !known.includes(address))
        .map((address) => `${path}: ${address}`),
    );
    expect(wrong).toEqual([]);
  });

  test("files", () => {
    const wrong = PAGES.flatMap(({ path, tokens }) =>
      codeSpansOf(tokens)
        .filter((text) => /^(db|runtime|tools|transports|tests)\/[\w./-]+\.\w+$/.test(text))
        .filter((file) => !existsSync(new URL(file, ROOT)))
        .map((file) => `${path}: ${file}`),
    );
    expect(wrong).toEqual([]);
  });

  test("names of the code, in the files that are said to have them", () => {
    const said = PAGES.flatMap(({ markdown }) => [...markdown.matchAll(/`(\w+)` of `([\w/.-]+\.ts)`/g)]);
    const wrong = said.filter(([, name, file]) => !new RegExp(`\\bconst ${name}\\b`).test(textOf(file!)));
    expect(wrong.map(([words]) => words)).toEqual([]);
    expect(said.length).toBeGreaterThan(3);
  });

  test("settings", () => {
    const known = [
      ...settings().map(({ name }) => name),
      "PROOF",
      "FAULT_ROUNDS",
      "API_KEY",
      "BENCH_DATABASE_URL",
      "CITUS_URL",
      "TEST_DATABASE_URL",
    ];
    const wrong = PAGES.flatMap(({ path, markdown }) =>
      [...markdown.matchAll(/(?:^|[\s`])([A-Z]{3,}(?:_[A-Z]+)*)=/gm)]
        .map(([, name]) => name!)
        .filter((name) => !known.includes(name) && !SHELL_VARIABLES.includes(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});

test("the guides name every provider, reason of the gate, operator, field of rules, event category and node", () => {
  const named = (name: string) =>
    codeSpansOf(PAGES.find(({ path }) => path === `${FOLDER}${name}.md`)!.tokens);
  const kinds = Object.values(PROVIDERS).flatMap((providers) => Object.keys(providers));
  expect(
    kinds.filter((kind) => !named("providers").includes(kind)),
    "Name the provider, with its credentials, in the table of transports/docs/guides/providers.md.",
  ).toEqual([]);
  const reasons = Object.keys({ ...BLOCK_REASONS, ...DEFER_REASONS });
  expect(
    reasons.filter((reason) => !named("consent-and-compliance").includes(reason)),
    "Explain the reason in transports/docs/guides/consent-and-compliance.md.",
  ).toEqual([]);
  expect(
    OPERATOR_NAMES.filter((name) => !named("segments").includes(name)),
    "Explain the operator in transports/docs/guides/segments.md.",
  ).toEqual([]);
  const begins = (form: string) => form.slice(0, form.indexOf("<"));
  expect(
    FAMILIES.map(({ form }) => form).filter(
      (form) => !named("segments").some((name) => name.startsWith(begins(form))),
    ),
    "Explain the field in transports/docs/guides/segments.md.",
  ).toEqual([]);
  expect(
    Object.keys(EVENTS).filter((category) => !named("webhooks").includes(`${category}.*`)),
    "Name the category of events in transports/docs/guides/webhooks.md.",
  ).toEqual([]);
  expect(
    Object.keys(KINDS).filter((type) => type !== "trigger" && !named("journeys").includes(type)),
    "Explain the node in transports/docs/guides/journeys.md.",
  ).toEqual([]);
});

/** Names of settings, fields and events that begin as an operation does. */
const NO_OPERATIONS = [
  "end_call",
  "journey_id",
  "journey_messages",
  "consent_levels",
  "add_to_segment",
  "play_limits",
  "grant_game_play",
  "game_play",
  "game_ticket",
  "play_limit_reached",
  "game_not_active",
  "campaign_id",
  "redeem_within_days",
  "void_in",
  "segment_enter",
  "segment_exit",
  "exit_old",
  "exit_on_goal",
  "exit_conditions",
  "journey_archived",
  "retry_after",
  "create_only",
  "update_only",
  "read_only",
  "send_in_player_timezone",
  "segment_id",
  "segment_members",
  "consent_records",
  "consent_expired",
  "preferences_url",
  "duplicate_address",
  "campaign_sends",
  "test_percent",
  "confirm_token",
  "unsubscribe_url",
];
const SHELL_VARIABLES = ["IMPORT", "SEGMENT", "CAMPAIGN"];
const GENERAL_FLAGS = [...GENERAL, "help", "filter", "no-wait"];

function isGood(path: string, href: string): boolean {
  if (/^(https:\/\/|mailto:)/.test(href)) return true;
  const [target, anchor] = href.split("#");
  const file = target ? new URL(target, new URL(path, ROOT)) : new URL(path, ROOT);
  const page = PAGES.find((one) => new URL(one.path, ROOT).href === file.href);
  return page !== undefined && (anchor === undefined || headingsOf(page.tokens).includes(anchor));
}

/** Every token of a page, those inside others too. */
function all(tokens: Token[]): Token[] {
  const found: Token[] = [];
  // Its callback is synchronous, so all tokens are found when it returns.
  void marked.walkTokens(tokens, (token) => void found.push(token));
  return found;
}

const linksOf = (tokens: Token[]) =>
  all(tokens).flatMap((token) => (token.type === "link" ? (token as Tokens.Link).href : []));
const headingsOf = (tokens: Token[]) =>
  all(tokens).flatMap((token) => (token.type === "heading" ? anchorOf((token as Tokens.Heading).text) : []));
const codeSpansOf = (tokens: Token[]) =>
  all(tokens).flatMap((token) => (token.type === "codespan" ? (token as Tokens.Codespan).text : []));
const codeOf = (tokens: Token[]) =>
  all(tokens).flatMap((token) =>
    token.type === "code" || token.type === "codespan" ? (token as Tokens.Code).text : [],
  );

interface Command {
  command: string;
  flags: string[];
  /** Of a list: what is chosen, ordered and filtered by. */
  columns?: string[];
}

/** The operations that a shell text runs, with their flags; words in quotes are values. */
function commandsIn(code: string): Command[] {
  const bare = code.replaceAll(/\\\n/g, " ").replaceAll(/'[^']*'|"[^"]*"/g, "…");
  const runs = bare.matchAll(/(?:npm run (?:-s )?tool --|(?:^|\()tool) ([a-z]+(?:-[a-z]+)*)([^\n|)]*)/gm);
  return Array.from(runs, ([, command, rest]) => ({
    command: command!,
    flags: [...rest!.matchAll(/ --([a-z-]+)/g)].map(([, flag]) => flag!),
    columns: [
      ...[...rest!.matchAll(/ --select ([a-z_,]+)/g)].flatMap(([, names]) => names!.split(",")),
      ...[...rest!.matchAll(/ --(?:order|filter) ([a-z_]+)\./g)].map(([, name]) => name!),
    ],
  }));
}

function flawsOf(path: string, { command, flags, columns = [] }: Command): string[] {
  const operation = CATALOG.operations.get(command.replaceAll("-", "_"));
  if (!operation) return [`${path}: ${command}`];
  const known = [...Object.keys(operation.input.shape).map(flagOf), ...GENERAL_FLAGS];
  const table = [...Object.keys(operation.crud?.table.columns ?? {}), "id", "created_at", "updated_at"];
  return [
    ...flags.filter((flag) => !known.includes(flag)).map((flag) => `${path}: ${command} --${flag}`),
    ...columns.filter((name) => !table.includes(name)).map((name) => `${path}: ${command} ${name}`),
  ];
}
