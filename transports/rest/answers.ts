import { promisify } from "node:util";
import { type AsyncZippable, zip } from "fflate";
import type { Outcome } from "#runtime/funnel/service.ts";
import type { Call } from "#runtime/operation/context.ts";
import { idempotencyKey } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { fingerprint } from "#transports/http/body.ts";
import { attachment, bodyOf } from "#transports/http/file-body.ts";
import type { AdmittedRequest } from "#transports/http/handlers.ts";
import type { Shaped } from "./response-format.ts";

// Large files are packed in threads of their own.
const zipped = promisify(
  (files: AsyncZippable, done: (error: Error | null, bytes: Uint8Array<ArrayBuffer>) => void) =>
    zip(files, (error, bytes) => done(error, bytes)),
);

/** Answers a file, at the receiver's speed. */
export function answerFile({ frame }: AdmittedRequest, { file }: Outcome): Response {
  if (!file) throw new Error("the outcome is no file");
  return answer(frame, 200, bodyOf(file.stream), {
    contentType: file.contentType,
    headers: { "Content-Disposition": attachment(file) },
  });
}

/** Answers a result as a ZIP file: `name` and the day are its name, and each part of the result is a JSON file. */
export async function answerZip(request: AdmittedRequest, outcome: Outcome, name: string): Promise<Response> {
  if (outcome.status !== 200) return answerOutcome(request, outcome, {});
  const parts = Object.entries(JSON.parse(outcome.body) as Record<string, unknown>);
  const isList = ([, part]: [string, unknown]) => typeof part === "object" && part !== null;
  const about = Object.fromEntries(parts.filter((part) => !isList(part)));
  const files = Object.fromEntries(
    [["about", about] as const, ...parts.filter(isList)].map(([part, content]) => [
      `${part}.json`,
      Buffer.from(JSON.stringify(content, null, 2)),
    ]),
  );
  const bytes = await zipped(files);
  return answer(request.frame, 200, new Blob([bytes]).stream(), {
    contentType: "application/zip",
    headers: {
      "Content-Disposition": `attachment; filename="${name}.zip"`,
      ...(outcome.replayed && { "Idempotency-Replayed": "true" }),
    },
  });
}

/** The call with its Idempotency-Key, if the request writes. */
export function keyed({ c, query }: AdmittedRequest, bytes: Buffer, call: Call): Call {
  const key = idempotencyKey(c.env.incoming);
  if (key === undefined || c.req.method === "GET") return call;
  return { ...call, idempotency: { key, fingerprint: fingerprint(c.req.method, c.req.path, query, bytes) } };
}

/** Answers an outcome, in the requested form if there is one. */
export function answerOutcome(
  { frame }: AdmittedRequest,
  outcome: Outcome | Shaped,
  headers: Record<string, string>,
): Response {
  return answer(frame, outcome.status, outcome.body, {
    ...("contentType" in outcome && { contentType: outcome.contentType }),
    headers: { ...headers, ...(outcome.replayed && { "Idempotency-Replayed": "true" }) },
  });
}
