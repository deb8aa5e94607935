import type { IncomingMessage } from "node:http";
import type { CallbackRequest } from "#runtime/channels/provider/channel.ts";
import { Fault, loggedFault, toFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { type CallbackReader, callbackReader, takeIn } from "#tools/providers/callbacks.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { answer, answerFault } from "#transports/http/answer.ts";
import { readBody } from "#transports/http/body.ts";
import { callbackLimits } from "#transports/http/callback-limits.ts";
import type { Http } from "#transports/http/handlers.ts";

/** Mounts the addresses for vendors' delivery notices. Each notice is stored once; the queue does the work. */
export function mountCallbacks(app: Http, control: AdmissionControl, service: Service): void {
  app.post("/api/callbacks/:provider/:id", async (c) => {
    const { provider, id } = c.req.param();
    const { incoming } = c.env;
    const limits = callbackLimits(control, incoming, id);
    try {
      limits.check();
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
      return answer(limits.signed(), 200, body, { contentType });
    } catch (error) {
      const fault = toFault(error);
      const frame = limits.refused(fault);
      loggedFault(service.log, fault, { provider: id, requestId: frame.requestId });
      return answerFault(frame, fault);
    }
  });
}

const SUCCESS = { contentType: "application/json", body: '{"success":true}' };

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
