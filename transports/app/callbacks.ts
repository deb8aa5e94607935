import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { CallbackRequest } from "#runtime/channels/provider/channel.ts";
import { Fault, loggedFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { type CallbackReader, callbackReader, takeIn } from "#tools/providers/callbacks.ts";
import { type AdmissionControl, addressOf } from "#transports/http/admission.ts";
import { answer, answerFault, type Frame } from "#transports/http/answer.ts";
import { readBody } from "#transports/http/body.ts";
import type { Http } from "#transports/http/handlers.ts";

/** Signed callbacks are counted for their headers and never refused: few addresses report for all properties. */
const SIGNED_LIMIT = 1_000_000;
/** Refused callbacks a minute from one address: for one provider record, and in all for unknown records. */
const REFUSED_LIMIT = 600;
const UNKNOWN_LIMIT = 6_000;

/** Mounts the addresses for vendors' delivery notices. Each notice is stored once; the queue does the work. */
export function mountCallbacks(app: Http, control: AdmissionControl, service: Service): void {
  app.post("/api/callbacks/:provider/:id", async (c) => {
    const { provider, id } = c.req.param();
    const { incoming } = c.env;
    const address = networkOf(addressOf(control, incoming) ?? "unknown");
    const refused: Bucket = [`callbacks:${address}:${id}`, REFUSED_LIMIT];
    const unknown: Bucket = [`callbacks:${address}`, UNKNOWN_LIMIT];
    const requestId = randomUUID();
    const frameFor = (bucket: Bucket, count = control.limiter.take): Frame => ({
      requestId,
      version: CURRENT_VERSION,
      allowance: count(...bucket),
      metadataUrl: control.metadataUrl,
    });
    const spent = [refused, unknown].find((bucket) => !control.limiter.peek(...bucket).allowed);
    if (spent) return answerSpent(control, frameFor(spent));
    try {
      const reader = await callbackReader(service, provider, id);
      const request = {
        url: `${service.config.baseUrl}${incoming.url ?? ""}`,
        headers: headersOf(incoming),
        body: await readBody(c.req.raw),
        at: control.directory.now(),
      };
      await verify(service, reader, request);
      const notices = reader.callbacks.parse(request);
      await takeIn(service, reader, notices);
      const { contentType, body } = reader.callbacks.answer ?? SUCCESS;
      return answer(frameFor([`callbacks:${id}`, SIGNED_LIMIT]), 200, body, { contentType });
    } catch (error) {
      const fault = loggedFault(service.log, error, { provider: id, requestId });
      // The record could not be read: that must not count against the vendor's next notice.
      if (fault.code === "unavailable") return answerFault(frameFor(refused, control.limiter.peek), fault);
      return answerFault(frameFor(fault.status === 404 ? unknown : refused), fault);
    }
  });
}

type Bucket = [string, number];

const SUCCESS = { contentType: "application/json", body: '{"success":true}' };

function answerSpent({ directory }: AdmissionControl, spent: Frame): Response {
  const retryAfter = Math.max(1, spent.allowance.reset - Math.floor(directory.now() / 1000));
  return answerFault(spent, new Fault("rate_limited", { retryAfter }));
}

/** Throws `invalid_credential` for a wrong signature, `unavailable` if it cannot be checked now. */
async function verify(
  { log }: Service,
  { callbacks, id }: CallbackReader,
  request: CallbackRequest,
): Promise<void> {
  let isSigned: boolean;
  try {
    isSigned = await callbacks.verify(request);
  } catch (cause) {
    throw new Fault("unavailable", { cause, retryAfter: 60 });
  }
  if (isSigned) return;
  log.warn({ provider: id }, "a callback with a wrong signature was refused");
  throw new Fault("invalid_credential");
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}
