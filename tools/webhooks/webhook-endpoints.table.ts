import { z } from "zod";
import { didYouMean } from "#db/nearest.ts";
import { formOfValues } from "#db/query/forms.ts";
import { invalid } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import { PRIVATE_ALLOWED, refuseUrl } from "#runtime/network/public-address.ts";
import { readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { SUBSCRIPTIONS } from "#runtime/operation/events.ts";
import { table } from "#runtime/operation/table.ts";
import { newSigningSecret } from "#runtime/secrets/signature.ts";
import { enqueueDelivery } from "./endpoint.ts";

const MOST_EVENTS = 100;
const MOST_CHARACTERS = 2048;
/** The characters that RFC 3986 has in no place of a URI. */
const NO_URI = /[^\w\-.~:/?#[\]@!$&'()*+,;=%]/g;

export default table({
  name: "webhook_endpoints",
  noun: "webhook_endpoint",
  description:
    "A receiver of signed event callbacks. The signing secret is shown once, when the endpoint is created; rotate_webhook_secret gives a new one.",
  core: ["list", "create"],
  columns: {
    url: writable(z.url().max(MOST_CHARACTERS).describe("Receives the POSTs; https, on the public internet")),
    events: writable(
      z
        .array(z.string())
        .min(1)
        .max(MOST_EVENTS)
        .describe('Event names such as "player.created"; "player.*" and "*" stand for many'),
      { form: formOfValues(SUBSCRIPTIONS) },
    ),
    is_active: writable(z.boolean().default(true).describe("true again clears disabled_reason")),
    description: writable(z.string().max(500).nullable().default(null).describe("For the staff")),
    include_pii: writable(
      z.boolean().default(false).describe("Also send names, addresses, birth dates and custom fields"),
    ),
    disabled_reason: readable(z.string().nullable().describe("The reason why the service switched it off"), {
      vocabulary: true,
    }),
    failing_since: readable(timestamp().nullable().describe("The first failure since the last success")),
  },
  effects: { delete: "destroy" },
  asks: ["create", "update"],
  secrets: {
    secret: z
      .string()
      .optional()
      .describe("whsec_…, the signing secret. Shown once: a replay does not have it."),
  },
  async beforeWrite(context, change) {
    const { url, events, is_active } = change.input;
    return {
      ...change.input,
      ...(url !== undefined && { url: receiverOf(context, url) }),
      ...(events && { events: knownEvents(events) }),
      ...(change.verb === "create" && { secret: newSigningSecret() }),
      ...((is_active === true || url !== undefined) && { resting_until: null }),
      ...(is_active === true && { disabled_reason: null, failing_since: null }),
    };
  },
  async afterWrite({ call, enqueue, ask }, { verb, input, row }) {
    const leaves = ["url", "events", "include_pii", "is_active"].some((name) => name in input);
    if (verb !== "delete" && row.include_pii && row.is_active && leaves) {
      refuseMasked(call, "the receiver gets it");
      const sentence = `Names, addresses, birth dates and custom fields of players go to ${JSON.stringify(row.url)} from now on, with the events ${row.events.join(", ")} (include_pii).`;
      ask?.({ sentences: () => [sentence] });
    }
    // The job removes what a deleted endpoint leaves, and discards what is pending for one that is switched off. An
    // endpoint that is switched on, or moved, gets due deliveries at once.
    const concernsDelivery = verb === "delete" || input.is_active !== undefined || input.url !== undefined;
    if (verb !== "create" && concernsDelivery) enqueueDelivery(enqueue, row.id);
  },
});

/** The receiver's address as a URI, which has ASCII characters alone. Throws `invalid` for one that is not called. */
function receiverOf({ config }: Context, url: string): string {
  const open = config.webhooksAllowPrivate;
  const refusal = refuseUrl(url, { allowPrivate: open, allowHttp: open });
  if (refusal !== null) throw invalid("url", open ? refusal : `${refusal} ${PRIVATE_ALLOWED}`);
  if (url.search(NO_URI) < 0) return url;
  const uri = new URL(url).href.replace(NO_URI, encodeURIComponent);
  if (uri.length > MOST_CHARACTERS) throw invalid("url", `is longer than ${MOST_CHARACTERS} characters`);
  return uri;
}

function knownEvents(names: string[]): string[] {
  const events = [...new Set(names)];
  const unknown = events.filter((name) => !SUBSCRIPTIONS.includes(name));
  if (unknown.length === 0) return events;
  const near = didYouMean(unknown[0]!, SUBSCRIPTIONS).replace("?", "");
  throw invalid(
    "events",
    `${quoted(unknown)} cannot be subscribed${near}. Allowed: ${SUBSCRIPTIONS.join(", ")}.`,
  );
}

function quoted(names: string[]): string {
  return names
    .slice(0, 5)
    .map((name) => JSON.stringify(name.slice(0, 100)))
    .join(", ");
}
