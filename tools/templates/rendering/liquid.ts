import { type Context, type Emitter, Liquid, type Template, Token, Tokenizer, TokenKind } from "liquidjs";
import { LRUCache } from "lru-cache";
import { storable } from "#db/text.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { OUT_OF_TIME, stepped } from "#runtime/limits/turns.ts";
import { ENCODINGS, withEncodedValues } from "./query-values.ts";

/** An email of 100 KB is cut off by large mail clients. These leave room for more, and none for a bomb. */
export const SOURCE_CHARACTERS = 500_000;
// liquidjs takes each token off the front of an array, which is quadratic in their number.
const SOURCE_TAGS = 5_000;
/** Characters written and list items made in one render. */
const RENDER_SIZE = 1_000_000;
const RENDER_MS = 250;
// The analysis of variables is quadratic in an expression's depth and length.
const TAG_CHARACTERS = 1_000;
const TAG_BRACKETS = 20;
const BRACKETS = 2_000;
// These tags read other files.
const FILE_TAGS = ["include", "render", "layout", "block"];
// These filters parse and run an expression for each item, and never check the time limit.
const EXPRESSION_FILTERS = /_exp$/;

/** The columns of a player that templates may use. */
export const PLAYER_FIELDS = [
  "player_id",
  "email",
  "phone",
  "first_name",
  "last_name",
  "tier",
  "adt",
  "coin_in",
  "lifetime_theo",
  "status",
  "timezone",
  "state",
  "postal_code",
  "country",
  "birth_date",
  "language",
  "custom",
  "last_visit_at",
  "tags",
] as const;

/** The fields of a player that templates may name without `player.` too. */
export const BARE_FIELDS: readonly string[] = ["first_name", "last_name", "email", "tier"];

/** A player with a value in every field, and in each custom field that the template reads. */
export function completePlayer(variables: readonly string[]): Record<string, unknown> {
  const texts = Object.fromEntries(PLAYER_FIELDS.map((field) => [field, "sample"]));
  const custom = variables.flatMap((path) => /^player\.custom\.(\w+)/.exec(path)?.[1] ?? []);
  return {
    ...texts,
    email: "player@example.com",
    adt: 100,
    coin_in: 1000,
    lifetime_theo: 5000,
    birth_date: "1980-01-31",
    last_visit_at: "2026-01-31T12:00:00Z",
    tags: ["sample"],
    custom: Object.fromEntries(custom.map((key) => [key, "sample"])),
  };
}

/** `html` escapes the values that a template prints, unless it says `raw`; `text` does not. */
type Engine = "html" | "text";

/** One field of a template, parsed. */
export interface ParsedField {
  /** Throws `invalid` when a variable is missing, a filter fails or a limit is passed. */
  render(variables: Record<string, unknown>): string;
  /** The paths of the variables that it needs, sorted. `[…]` stands for the names that it computes. */
  variables: string[];
}

const ENGINES: Record<Engine, Liquid> = { html: engine("html"), text: engine("text") };

/** Parses one field of a template. Throws `invalid`, with the field, the line and the reason. */
export function parseField(field: string, source: string, kind: Engine): ParsedField {
  if (source.length > SOURCE_CHARACTERS) {
    throw invalid(field, `is longer than ${SOURCE_CHARACTERS} characters`);
  }
  if ((source.match(/\{[{%]/g)?.length ?? 0) > SOURCE_TAGS) {
    throw invalid(field, `has more than ${SOURCE_TAGS} Liquid tags`);
  }
  checkTags(field, source);
  const liquid = ENGINES[kind];
  const { template, variables } = guard(field, () => parsed(kind, source));
  const rendered = (given: Record<string, unknown>) =>
    stepped(
      // The steps have a limit of their own: the time between them is other work's.
      () => liquid._render(template, given, { sync: true, renderLimit: Number.POSITIVE_INFINITY }),
      () => liquid.renderSync(template, given),
    );
  return { render: (given) => guard(field, () => storable(String(rendered(given)))), variables };
}

/** Parses one plain text. */
export const parseText = (field: string, source: string): ParsedField => parseField(field, source, "text");

interface Parsed {
  template: Template[];
  variables: string[];
}

/** A preview, its preflight and its sending parse the same source. */
const PARSED = new LRUCache<string, Parsed>({ maxSize: 10_000_000, sizeCalculation: (_, key) => key.length });

function parsed(kind: Engine, source: string): Parsed {
  const key = `${kind} ${source}`;
  const known = PARSED.get(key);
  if (known) return known;
  const template = ENGINES[kind].parse(withEncodedValues(source));
  const found = { template, variables: [...namesIn(ENGINES[kind], template), ...computedNames(source)] };
  PARSED.set(key, found);
  return found;
}

/** The fields of a campaign or a template that hold Liquid, with the engine of each. */
const FIELDS: Record<string, Engine> = {
  subject: "text",
  preheader: "html",
  body_html: "html",
  body_text: "text",
  html: "html",
  text: "text",
};

/** A name that a tag computes at the begin of a path, its quoted texts taken out: `["tier"]` is known. */
const COMPUTED = /(?:^|[^\w\])])\[(?!\s*\])/;
const QUOTED = /"[^"]*"|'[^']*'/g;

/**
 * All names in the tags of a text that parses, with those that it assigns: an assignment may never happen, and then the
 * recipient's field has the name. `[…]` as in `variables`.
 */
export function allNames(source: string): string[] {
  parseText("text", source);
  const { template } = parsed("text", source);
  return [...namesIn(ENGINES.text, template, true), ...computedNames(source)];
}

function computedNames(source: string): string[] {
  const tags = new Tokenizer(source)
    .readTopLevelTokens()
    .flatMap(({ kind, begin, end }) => (kind === TokenKind.HTML ? [] : [source.slice(begin, end)]));
  return tags.some((tag) => COMPUTED.test(tag.replace(QUOTED, ""))) ? ["[…]"] : [];
}

/** Refuses Liquid that does not parse, naming the field. Answers the variables of all fields, sorted. */
export function checkSyntax(record: Record<string, unknown>): string[] {
  const names = Object.entries(FIELDS).flatMap(([field, engine]) => {
    const source = record[field];
    return typeof source === "string" ? parseField(field, source, engine).variables : [];
  });
  return [...new Set(names)].sort();
}

function checkTags(field: string, source: string): void {
  let brackets = 0;
  for (const [tag] of source.matchAll(/\{\{.*?\}\}|\{%.*?%\}/gs)) {
    const opened = tag.split("[").length - 1;
    brackets += opened;
    if (tag.length > TAG_CHARACTERS)
      throw invalid(field, `has a Liquid tag over ${TAG_CHARACTERS} characters`);
    if (opened > TAG_BRACKETS || brackets > BRACKETS)
      throw invalid(field, "has too many brackets in Liquid tags");
  }
}

function engine(kind: Engine): Liquid {
  const liquid = new Liquid({
    strictVariables: true,
    strictFilters: true,
    // `strictVariables` still holds outside conditions and `default`.
    lenientIf: true,
    ownPropertyOnly: true,
    templates: {},
    // Else dates depend on the server's time zone.
    timezoneOffset: 0,
    renderLimit: RENDER_MS,
    memoryLimit: RENDER_SIZE,
    outputEscape: kind === "html" ? (value) => escapeHtml(printed(value)) : printed,
  });
  for (const [name, encode] of Object.entries(ENCODINGS)) {
    liquid.registerFilter(name, (value: unknown) => encode(printed(value).toWellFormed()));
  }
  for (const tag of FILE_TAGS) delete liquid.tags[tag];
  for (const name of Object.keys(liquid.filters)) {
    if (EXPRESSION_FILTERS.test(name)) liquid.unregisterFilter(name);
  }
  const render = liquid.renderer.renderTemplates.bind(liquid.renderer);
  // The library's emitter, which `capture` uses too, does not count towards the memory limit.
  liquid.renderer.renderTemplates = (templates, context, emitter) =>
    render(templates, context, emitter ?? countingEmitter(context));
  return liquid;
}

/** The text of `{{ }}`. A missing value is an error and not a blank: `assign` passes a missing variable on as null. */
function printed(value: unknown): string {
  if (value === null || value === undefined) {
    throw new Error('nothing to put out here; give it a value with | default: "…"');
  }
  return written(value);
}

function countingEmitter(context: Context): Emitter {
  return {
    buffer: "",
    write(value: unknown) {
      const text = written(value);
      context.memoryLimit.use(text.length);
      this.buffer += text;
    },
  };
}

function written(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.map(written).join("") : String(value);
}

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

/** Whether a render passed its time limit. On a busy machine this says nothing of the template. */
export function ranOutOfTime({ cause }: Fault): boolean {
  return cause instanceof Error && cause.message.startsWith(OUT_OF_TIME);
}

/** The analysis looks up the line of each variable from the start of the source: 3 s for 4,900 tags of 55 characters. */
function namesIn(liquid: Liquid, template: Template[], isWithOwn = false): string[] {
  const { getPosition } = Token.prototype;
  Token.prototype.getPosition = () => [0, 0];
  try {
    const names = isWithOwn ? liquid.fullVariablesSync(template) : liquid.globalFullVariablesSync(template);
    return names.sort();
  } finally {
    Token.prototype.getPosition = getPosition;
  }
}

function guard<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const reason = withHint(error instanceof Error ? error.message : String(error));
    throw new Fault("invalid", {
      message: `${field}: ${reason}`,
      details: [{ field, message: reason }],
      cause: error,
    });
  }
}

const LINKS = ["unsubscribe_url", "preferences_url", "inbox_url", "game_url"];
const KNOWN_BARE: readonly string[] = [...BARE_FIELDS, ...LINKS];
const UNDER_PLAYER: readonly string[] = PLAYER_FIELDS;

/** The error about a variable without `player.` in front, with the name that is meant. */
function withHint(reason: string): string {
  const name = /^undefined variable: (\w+)(?![\w.[])/.exec(reason)?.[1];
  if (name === undefined || KNOWN_BARE.includes(name)) return reason;
  const way = UNDER_PLAYER.includes(name) ? `write {{ player.${name} }}` : "write {{ player.… }}";
  return `${reason}; ${way}: bare names are ${KNOWN_BARE.join(", ")}; all other fields are under player., custom ones under player.custom., the casino's under property.`;
}
