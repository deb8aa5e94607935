import { createHash } from "node:crypto";
import { Fault } from "#runtime/faults.ts";
import { parseJson } from "#runtime/operation/input.ts";

/** The largest JSON body, in bytes. */
export const MOST_BYTES = 1_048_576;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads a request's body up to the limit, in bytes. Throws `too_large` and `unsupported_media_type`. */
export async function readBody(request: Request, limit = MOST_BYTES): Promise<Buffer> {
  checkUnpacked(request.headers.get("content-encoding"));
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > limit) throw tooLarge(limit);
  if (declared !== null) return Buffer.from(await request.arrayBuffer());
  if (!request.body) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Parses a body as JSON; undefined if it is empty. Throws `invalid` and `unsupported_media_type`. */
export function readJson(contentType: string | null, bytes: Buffer, parse = parseJson): unknown {
  if (bytes.length === 0) return undefined;
  if (contentType !== null && !/^application\/([\w.+-]+\+)?json\b/i.test(contentType)) {
    throw new Fault("unsupported_media_type", {
      message: `Send the body as application/json, not ${contentType.slice(0, 100)}.`,
    });
  }
  checkCharset(contentType);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new Fault("invalid", { message: "The body is not valid UTF-8." });
  }
  return parse(text);
}

/** Throws `unsupported_media_type` if the Content-Type names another charset than UTF-8. */
export function checkCharset(contentType: string | null): void {
  const [, charset] = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(contentType ?? "") ?? [];
  if (charset === undefined || /^utf-?8$/i.test(charset)) return;
  throw new Fault("unsupported_media_type", {
    message: `Send the body in UTF-8, not in ${JSON.stringify(charset.slice(0, 40))}.`,
  });
}

/** Throws `unsupported_media_type` if the Content-Encoding says that the body is compressed. */
export function checkUnpacked(encoding: string | null | undefined): void {
  if (!encoding || /^identity$/i.test(encoding)) return;
  throw new Fault("unsupported_media_type", {
    message: `Send the body uncompressed, not as ${JSON.stringify(encoding.slice(0, 40))}.`,
  });
}

/** Two requests with one Idempotency-Key are the same if method, path, sorted query and raw body are. */
export function fingerprint(method: string, path: string, query: URLSearchParams, body: Buffer): Buffer {
  const sorted = new URLSearchParams(query);
  sorted.sort();
  return createHash("sha256").update(`${method}\n${path}\n${sorted}\n`).update(body).digest();
}

function tooLarge(limit: number): Fault {
  return new Fault("too_large", { message: `The body is larger than ${limit} bytes.` });
}
