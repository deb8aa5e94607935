import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { CallbackRequest } from "#runtime/channels/channel.ts";
import { toToldFault } from "#runtime/failures.ts";
import { Fault } from "#runtime/faults.ts";
import type { Service } from "#runtime/invoke.ts";
import { networkOf } from "#runtime/rate-limit.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { type CallbackReader, callbackReader, takeIn } from "#tools/providers/callbacks.ts";
import { answer, answerFault, type Frame } from "./answer.ts";
import { readBody } from "./body.ts";
import { addressOf, type Gate } from "./gate.ts";
import type { Http } from "./guarded.ts";

/** What a vendor has signed is counted for its headers, and never refused: all properties' feedback comes from few addresses. */
const SIGNED_LIMIT = 1_000_000;
/** Refused callbacks a minute, of an address: to one provider's record, and in all to records that are not there. */
const REFUSED_LIMIT = 600;
const UNKNOWN_LIMIT = 6_000;

/** Where vendors tell what became of messages. Takes each notice in once, and leaves the work to the queue. */
export function mountCallbacks(app: Http, gate: Gate, service: Service): void {
  app.post("/api/callbacks/:provider/:id", async (c) => {
    const { provider, id } = c.req.param();
    const { incoming } = c.env;
    const address = networkOf(addressOf(gate, incoming) ?? "unknown");
    const refused: Bucket = [`callbacks:${address}:${id}`, REFUSED_LIMIT];
    const unknown: Bucket = [`callbacks:${address}`, UNKNOWN_LIMIT];
    const requestId = randomUUID();
    const frame = (bucket: Bucket, count = gate.limiter.take): Frame => ({
      requestId,
      version: CURRENT_VERSION,
      allowance: count(...bucket),
      metadataUrl: gate.metadataUrl,
    });
    const spent = [refused, unknown].find((bucket) => gate.limiter.isSpent(...bucket));
    if (spent) return answerSpent(gate, frame(spent));
    try {
      const reader = await callbackReader(service, provider, id);
      const request = {
        url: `${service.config.baseUrl}${incoming.url ?? ""}`,
        headers: headersOf(incoming),
        body: await readBody(c.req.raw),
        at: gate.directory.now(),
      };
      await verify(service, reader, request);
      const notices = reader.callbacks.parse(request);
      await takeIn(service, reader, notices);
      const { contentType, body } = reader.callbacks.answer ?? SUCCESS;
      return answer(frame([`callbacks:${id}`, SIGNED_LIMIT]), 200, body, { contentType });
    } catch (error) {
      const fault = toToldFault(service.log, error, { provider: id, requestId });
      // A record that could not be read tells nothing of who asked: what the vendor tells next must not be refused for it.
      if (fault.code === "unavailable") return answerFault(frame(refused, gate.limiter.look), fault);
      return answerFault(frame(fault.status === 404 ? unknown : refused), fault);
    }
  });
}

type Bucket = [string, number];

const SUCCESS = { contentType: "application/json", body: '{"success":true}' };

function answerSpent({ directory }: Gate, spent: Frame): Response {
  const retryAfter = Math.max(1, spent.allowance.reset - Math.floor(directory.now() / 1000));
  return answerFault(spent, new Fault("rate_limited", { retryAfter }));
}

/** Throws `invalid_credential` for what the vendor has not signed; `unavailable` when that cannot be told now. */
async function verify(
  { log }: Service,
  { callbacks, id }: CallbackReader,
  request: CallbackRequest,
): Promise<void> {
  let signed: boolean;
  try {
    signed = await callbacks.verify(request);
  } catch (cause) {
    throw new Fault("unavailable", { cause, retryAfter: 60 });
  }
  if (signed) return;
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
