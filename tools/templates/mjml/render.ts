import { randomBytes } from "node:crypto";
import { Tokenizer, TokenKind } from "liquidjs";
import { Fault, type FaultDetail, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Row } from "#runtime/operation/table.ts";
import { parseField } from "#tools/templates/rendering/liquid.ts";
import { type LaidOut, layOut } from "./thread.ts";

// The layout of each component takes some milliseconds.
const SOURCE_CHARACTERS = 200_000;

/**
 * The HTML of MJML with Liquid in it, made once for all recipients. Its Liquid stays in place, so no value of a player
 * can change the layout. Throws `invalid`, naming the line of an error, or of Liquid that would decide on widths.
 */
export async function htmlOf(field: string, source: string, property: string): Promise<string> {
  if (source.length > SOURCE_CHARACTERS)
    throw invalid(field, `is longer than ${SOURCE_CHARACTERS} characters`);
  parseField(field, source, "html");
  const include = source.search(/<mj-include\b/i);
  if (include >= 0) {
    throw invalid(
      field,
      `line ${lineAt(source, include)}: mj-include is not possible here; write out its content`,
    );
  }
  const masked = mask(field, source);
  const first = await laidOut(field, property, masked.text);
  const shown = new Set(marksIn(masked, first.html));
  const missing = masked.pieces.filter((piece) => !shown.has(piece));
  const whole = missing.length === 0 ? first : await withRaw(field, property, masked, missing);
  checkOrder(field, masked, whole);
  const html = whole.html.replace(masked.pattern, (_, index) => masked.pieces[Number(index)]!.text);
  parseField(field, html, "html");
  return html;
}

/**
 * The changes that follow from a change of a record's MJML: its HTML comes from the MJML alone, and goes with it.
 * Unchanged MJML is not laid out again.
 */
export async function mjmlChange(
  { property }: Pick<Context, "property">,
  names: { source: string; html: string },
  input: Record<string, unknown>,
  current: Row | null,
): Promise<Record<string, unknown>> {
  const before = current?.[names.source] ?? null;
  const source = names.source in input ? (input[names.source] ?? null) : before;
  if (typeof source !== "string") return before === null || names.html in input ? {} : { [names.html]: null };
  const isSame = source === before;
  const { [names.html]: given } = input;
  if (given !== undefined && given !== null && given !== current?.[names.html]) {
    throw invalid(names.html, `is made of ${names.source}; write that, or set it to null`);
  }
  if (isSame && given !== null) return {};
  return { [names.html]: await htmlOf(names.source, source, property.id) };
}

interface Piece {
  text: string;
  line: number;
  isTag: boolean;
  /** The number of tags before it. */
  after: number;
}

interface Masked {
  text: string;
  pieces: Piece[];
  pattern: RegExp;
}

/** The source with a word in place of each piece of Liquid. */
function mask(field: string, source: string): Masked {
  const nonce = randomBytes(6).toString("hex");
  const pieces: Piece[] = [];
  let line = 1;
  let after = 0;
  const texts = new Tokenizer(source).readTopLevelTokens().map((token) => {
    const text = source.slice(token.begin, token.end);
    const at = line;
    line += text.split("\n").length - 1;
    if (token.kind === TokenKind.HTML) return text;
    const isTag = text.startsWith("{%");
    pieces.push({ text, line: at, isTag, after });
    if (isTag) after += 1;
    return `lq${nonce}n${pieces.length - 1}q`;
  });
  const text = texts.join("");
  if (!/^\s*<mjml\b/.test(text) || !/<\/mjml\s*>$/.test(text.trimEnd())) {
    throw invalid(field, "must be one <mjml> element, with all Liquid inside it");
  }
  return { text, pieces, pattern: new RegExp(`lq${nonce}n(\\d+)q`, "g") };
}

function marksIn({ pieces, pattern }: Masked, text: string): Piece[] {
  return Array.from(text.matchAll(pattern), ([, index]) => pieces[Number(index)]!);
}

/** Lays out again, with the lost pieces as raw content: MJML drops text in places that take none. */
async function withRaw(field: string, property: string, masked: Masked, missing: Piece[]): Promise<LaidOut> {
  const lost = new Set(missing);
  const misplaced: Piece[] = [];
  const { text, pieces, pattern } = masked;
  // The last bracket says whether a mark stands within a tag.
  let position = 0;
  let within = false;
  const wrapped = text.replace(pattern, (mark, index, at: number) => {
    const between = text.slice(position, at);
    const open = between.lastIndexOf("<");
    const close = between.lastIndexOf(">");
    if (open !== close) within = open > close;
    position = at;
    const piece = pieces[Number(index)]!;
    if (!lost.has(piece)) return mark;
    if (within) misplaced.push(piece);
    return `<mj-raw>${mark}</mj-raw>`;
  });
  if (misplaced.length > 0) throw refused(field, misplaced.map(cannotStand));
  return laidOut(field, property, wrapped);
}

async function laidOut(field: string, property: string, text: string): Promise<LaidOut> {
  const result = await layOut(property, text);
  if (!result) throw invalid(field, "takes too long to render; make it smaller");
  const problems = result.errors.map(({ line, message, tagName }) => {
    const position = line === undefined ? "" : `line ${line}: `;
    return `${position}${tagName === "mj-raw" ? "Liquid cannot stand here" : message}`;
  });
  if (problems.length > 0) throw refused(field, problems);
  return result;
}

/** Liquid must mean the same in the HTML as in the source: every piece follows the same tags. */
function checkOrder(field: string, masked: Masked, { html, amongColumns }: LaidOut): void {
  const columns = marksIn(masked, amongColumns).filter(({ isTag }) => isTag);
  if (columns.length > 0) throw refused(field, columns.map(betweenColumns));
  const found = new Set<Piece>();
  let tags = 0;
  for (const piece of marksIn(masked, html)) {
    if (piece.after !== tags) throw refused(field, [cannotStand(piece)]);
    found.add(piece);
    if (piece.isTag) tags += 1;
  }
  const lost = masked.pieces.filter((piece) => !found.has(piece));
  if (lost.length > 0) throw refused(field, lost.map(cannotStand));
}

function betweenColumns({ line, text }: Piece): string {
  return `line ${line}: ${text} stands between columns, whose widths are fixed before; put it around the section`;
}

function cannotStand({ line, text }: Piece): string {
  return `line ${line}: ${text} cannot stand here; put it into the text of a component, an address, or around sections`;
}

function refused(field: string, messages: string[]): Fault {
  const details: FaultDetail[] = messages.slice(0, 20).map((message) => ({ field, message }));
  return new Fault("invalid", { message: `${field}: ${messages.slice(0, 20).join("; ")}`, details });
}

function lineAt(source: string, position: number): number {
  return source.slice(0, position).split("\n").length;
}
