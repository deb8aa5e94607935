import type { Outcome } from "#runtime/funnel/service.ts";
import type { Call } from "#runtime/operation/context.ts";
import { idempotencyKey } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { fingerprint } from "#transports/http/body.ts";
import { attachment, bodyOf } from "#transports/http/file-body.ts";
import type { AdmittedRequest } from "#transports/http/handlers.ts";
import type { Shaped } from "./response-format.ts";

/** Answers a file, at the receiver's speed. */
export function answerFile({ frame }: AdmittedRequest, { file }: Outcome): Response {
  if (!file) throw new Error("the outcome is no file");
  return answer(frame, 200, bodyOf(file.stream), {
    contentType: file.contentType,
    headers: { "Content-Disposition": attachment(file) },
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
