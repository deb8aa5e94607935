import { z } from "zod";
import { Fault, noSuch } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import { createOnly, hidden, readable, timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, table, type Values } from "#runtime/operation/table.ts";
import { playerWords } from "#tools/people/words.ts";
import { keyOfSubscription } from "./keys.ts";
import { checkedEndpoint, endSilent, lockBrowser, PushKey, Subscription } from "./subscription.ts";

const columns = {
  player_id: createOnly(z.uuid().describe("From list_players"), { concise: true }),
  // With these three anybody can write to the browser, so no credential reads them.
  endpoint: hidden(Subscription.endpoint),
  p256dh: hidden(Subscription.p256dh),
  auth: hidden(Subscription.auth),
  public_key: createOnly(PushKey),
  endpoint_host: readable(z.string().describe("The push service of the browser"), {
    concise: true,
    sql: "coalesce(substring(endpoint from '^https?://([^/?#]+)'), '')",
  }),
  user_agent: createOnly(z.string().max(500).nullish().describe("The browser"), { concise: true }),
  last_success_at: readable(timestamp().nullable().describe("A push service took a message for it last"), {
    concise: true,
  }),
  disabled_at: readable(timestamp().nullable().describe("It gets nothing since"), { concise: true }),
  disabled_reason: readable(
    z
      .enum(["gone", "bad_keys", "unsubscribed", "replaced"])
      .nullable()
      .describe("gone: its push service said so"),
  ),
};

export default table({
  name: "push_subscriptions",
  noun: "push_subscription",
  description:
    "A browser that a player has subscribed to web push. Players subscribe on their own page; the casino's own app may add one here, made with the public key of show_push. It is no consent: record that with consent_record.",
  verbs: ["list", "get", "create", "delete"],
  asks: ["create"],
  columns,
  beforeWrite,
  afterWrite: (context, { row }) => endSilent(context, [row.player_id]),
});

async function beforeWrite(context: Context, { verb, input }: Change<typeof columns>): Promise<Values> {
  if (verb !== "create") return input;
  refuseMasked(context.call, "the browser would get a player's messages");
  const { sql, property } = context;
  const [player] = await sql`
    select from players where property_id = ${property.id} and id = ${input.player_id} and deleted_at is null
      and status <> 'erased' for no key update`;
  if (!player) throw noSuch("player", input.player_id);
  const endpoint = checkedEndpoint(context, input.endpoint);
  await lockBrowser(context, endpoint);
  const [known] = await sql<{ id: string }[]>`
    select id from push_subscriptions where property_id = ${property.id} and endpoint = ${endpoint} for update`;
  if (known) {
    throw new Fault("conflict", {
      message: `This browser is subscribed already, as ${known.id}. Delete that subscription first.`,
    });
  }
  const { host } = new URL(endpoint);
  context.ask?.({
    sentences: async () => [
      `Web push to ${await playerWords(context, input.player_id)} goes to a browser behind ${JSON.stringify(host)} too from now on.`,
    ],
  });
  const public_key = await keyOfSubscription(context, { given: input.public_key, endpoint });
  return { ...input, endpoint, public_key };
}
