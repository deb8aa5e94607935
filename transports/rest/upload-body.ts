import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy } from "@fastify/busboy";
import { isStorable } from "#db/text.ts";
import { Fault, invalid, toFault } from "#runtime/faults.ts";
import { MOST_FILE } from "#tools/imports/upload.ts";
import { checkUnpacked } from "#transports/http/body.ts";

const MOST_PARAMS = 262_144;
/** The most bytes in a body besides the file: the parameters and the lines of the parts. */
const MOST_ENVELOPE = 1_048_576;

const NAMELESS = "A part has no name. Send file, with a filename, and params.";

/** Keeps a file as it arrives. */
export type Store = (file: AsyncIterable<Uint8Array>, filename: string | null) => Promise<void>;

/** Refuses a request at once if its headers show that it is too large, or compressed. */
export function checkDeclared(incoming: IncomingMessage): void {
  checkUnpacked(incoming.headers["content-encoding"]);
  const declared = Number(incoming.headers["content-length"] ?? 0);
  if (declared > MOST_FILE + MOST_ENVELOPE) throw tooLarge();
}

/** The whole body is the file. */
export async function receiveText(incoming: IncomingMessage, store: Store): Promise<void> {
  // The connection must stay open after a refusal, because the answer uses it.
  await store(limited(incoming.iterator({ destroyOnReturn: false })), null);
}

/** The parts `file` and `params`, in either order. Answers the text of `params`. */
export function receiveParts(incoming: IncomingMessage, store: Store): Promise<string> {
  const parser = openParser(incoming);
  let file: Readable | undefined;
  let stored: Promise<void> | undefined;
  let text = "{}";
  let params = 0;
  const reading = new Promise<void>((resolve, reject) => {
    const refuse = (message: string) => reject(new Fault("invalid", { message }));
    parser.on("field", (name: string | undefined, value, _nameTruncated, truncated) => {
      if (name === "params" && ++params > 1) refuse("Send params once, not twice.");
      else if (name === undefined) refuse(NAMELESS);
      else if (name !== "params")
        refuse(`The part ${shown(name)} is not known. Send file, with a filename, and params.`);
      else if (truncated) refuse("params is too long.");
      else text = value;
    });
    parser.on("file", (name: string | undefined, stream, filename) => {
      stream.on("error", reject);
      if (name === "params" && ++params === 1)
        return void textOf(stream).then((value) => (text = value), reject);
      const wrong = wrongFile(name, filename, file !== undefined);
      if (wrong !== null) {
        stream.resume();
        return refuse(wrong);
      }
      file = stream;
      stored = store(limited(stream), filename ?? null);
      stored.catch(reject);
    });
    parser.on("partsLimit", () => refuse("The body has too many parts. Send file and params."));
    parser.on("error", (error) =>
      refuse(`The body is not valid multipart/form-data. ${(error as Error).message ?? ""}`.trim()),
    );
    parser.on("finish", () => resolve());
    incoming.on("error", reject);
    incoming.on("close", () => {
      if (!incoming.complete)
        reject(toFault(Object.assign(new Error("the sender went away"), { code: "ECONNRESET" })));
    });
    incoming.pipe(parser);
  });
  return settle(reading, () => stored).then(
    () => text,
    async (error: unknown) => {
      incoming.unpipe(parser);
      file?.destroy(error as Error);
      await stored?.catch(() => {});
      throw error;
    },
  );
}

function wrongFile(name: string | undefined, filename: string | undefined, second: boolean): string | null {
  if (name === undefined) return NAMELESS;
  if (name === "params") return "Send params once, not twice.";
  if (name !== "file") return `The part ${shown(name)} is not known. Send file and params.`;
  if (second) return "Send one file, not two.";
  return isStorable(filename ?? "") ? null : "The filename holds NUL or broken Unicode.";
}

async function settle(reading: Promise<void>, stored: () => Promise<void> | undefined): Promise<void> {
  await reading;
  if (!stored()) throw invalid("file", "is missing: send a part named file, with a filename");
  await stored();
}

function openParser(incoming: IncomingMessage): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: incoming.headers as { "content-type": string },
      limits: { fieldSize: MOST_PARAMS, parts: 10, headerPairs: 50 },
    });
  } catch {
    throw new Fault("invalid", {
      message: "The Content-Type is not valid: multipart/form-data needs a boundary.",
    });
  }
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_PARAMS) throw invalid("params", "is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function* limited(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of file) {
    size += chunk.length;
    if (size > MOST_FILE) throw tooLarge();
    yield chunk;
  }
}

function tooLarge(): Fault {
  return new Fault("too_large", { message: `The file is larger than ${MOST_FILE} bytes. Split it.` });
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 60));
}
