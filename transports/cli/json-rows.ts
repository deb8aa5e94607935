import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parse } from "csv-parse";
import { readCell } from "#db/stream/csv.ts";

/** A stream that takes CSV and writes its rows to `out` as a JSON array of objects. */
export function jsonRows(out: NodeJS.WritableStream): {
  stream: NodeJS.WritableStream;
  end(): Promise<void>;
} {
  const parser = parse({ columns: true, bom: true, cast: readCell });
  const piped = pipeline(parser, objects(), out, { end: false });
  // Awaited in `end`; without a handler a failure before that would end the process.
  piped.catch(() => {});
  return {
    stream: parser,
    end: async () => {
      parser.end();
      await piped;
    },
  };
}

function objects(): Transform {
  let mark = "[";
  return new Transform({
    writableObjectMode: true,
    transform: (row: object, _encoding, done) => {
      done(null, `${mark}${JSON.stringify(row)}`);
      mark = ",\n";
    },
    flush: (done) => done(null, mark === "[" ? "[]\n" : "]\n"),
  });
}
