import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Info, parse } from "csv-parse";
import { errorCode } from "#db/connection/error-code.ts";
import { Fault } from "#runtime/faults.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";

export const MOST_ROWS = 1_000_000;
const MOST_RECORD = 2 * 1_048_576;
const DELIMITERS = [",", ";", "\t", "|"] as const;
const HEAD = 65_536;
/** Records between two turns of the event loop, some 2 ms: requests, and the writing of the last batch, wait for them. */
const RECORDS_A_TURN = 64;

/** How files with any delimiter are read. */
export const CSV_FORM = {
  bom: true,
  record_delimiter: ["\r\n", "\n", "\r"],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  max_record_size: MOST_RECORD,
};

type Bytes = AsyncIterable<Uint8Array>;

/** The findings of one scan of a file's bytes. */
export interface Survey {
  /** A label of the Encoding Standard. */
  encoding: string;
  delimiter: string;
  /** The text of its first bytes. */
  head: string;
  /** Records without the header, as far as line ends and quotes tell. */
  rows: number;
}

/** Scans the whole file once: its encoding, delimiter and length. Throws `invalid` on an empty file. */
export async function survey(
  file: Bytes,
  params: Pick<ImportParams, "encoding" | "delimiter" | "has_header">,
): Promise<Survey> {
  let head = Buffer.alloc(0);
  let lines = 0;
  let quoted = false;
  let content = false;
  let previous = 0;
  const utf8 = utf8Check();
  for await (const chunk of file) {
    if (head.length < HEAD) head = Buffer.concat([head, chunk.subarray(0, HEAD)]);
    utf8.push(chunk);
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (byte === 0x22) quoted = !quoted;
      else if (!quoted && (byte === 0x0a || byte === 0x0d)) {
        if (content) lines++;
        content = false;
        previous = byte;
        continue;
      } else if (byte === 0) {
        // The other half of a UTF-16 line end.
        if (!content && (previous === 0x0a || previous === 0x0d)) continue;
      }
      content = true;
      previous = byte;
    }
  }
  if (head.length === 0) throw new Fault("invalid", { message: "The file is empty." });
  const encoding = encodingOf(params.encoding, head, utf8.isValid());
  const text = new TextDecoder(encoding).decode(head);
  const delimiter = params.delimiter === "auto" ? delimiterOf(text) : params.delimiter;
  const records = lines + (content ? 1 : 0);
  return { encoding, delimiter, head: text, rows: Math.max(0, records - (params.has_header ? 1 : 0)) };
}

function utf8Check() {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let valid = true;
  const decode = (chunk: Uint8Array | undefined, stream: boolean) => {
    if (!valid) return;
    try {
      decoder.decode(chunk, { stream });
    } catch {
      valid = false;
    }
  };
  return {
    push: (chunk: Uint8Array) => decode(chunk, true),
    isValid: () => {
      decode(undefined, false);
      return valid;
    },
  };
}

function encodingOf(given: ImportParams["encoding"], head: Buffer, isUtf8: boolean): string {
  if (given !== "auto") return given;
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  return isUtf8 ? "utf-8" : "windows-1252";
}

/** The most frequent delimiter of the first line, outside quotes. */
function delimiterOf(text: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((one) => [one, 0]));
  let quoted = false;
  for (const character of text.replace(/^\s+/, "")) {
    if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === "\n" || character === "\r") break;
    else if (counts.has(character)) counts.set(character, counts.get(character)! + 1);
  }
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/** The file's records as texts, in order; reading records reads the bytes. Throws `invalid`. */
export async function* records(
  file: Bytes,
  { encoding, delimiter }: Pick<Survey, "encoding" | "delimiter">,
): AsyncGenerator<string[]> {
  const parser = parse({ ...CSV_FORM, delimiter });
  const source = Readable.from(encoding === "utf-8" ? file : recoded(file, encoding), { objectMode: false });
  source.on("error", (error) => parser.destroy(error));
  source.pipe(parser);
  try {
    let read = 0;
    for await (const record of parser) {
      yield record as string[];
      if (++read % RECORDS_A_TURN === 0) await nextTurn();
    }
  } catch (error) {
    throw explained(error, parser.info);
  } finally {
    source.destroy();
    parser.destroy();
  }
}

async function* recoded(file: Bytes, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of file) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

function explained(error: unknown, info: Info): unknown {
  const code = errorCode(error);
  const after = `after record ${info.records}`;
  if (code === "CSV_QUOTE_NOT_CLOSED" || code === "CSV_MAX_RECORD_SIZE") {
    return new Fault("invalid", {
      message: `The file cannot be read ${after}: a quote that is opened there is not closed.`,
      cause: error,
    });
  }
  if (code.startsWith("CSV_")) {
    return new Fault("invalid", {
      message: `The file cannot be read ${after}: it is not CSV.`,
      cause: error,
    });
  }
  return error;
}
