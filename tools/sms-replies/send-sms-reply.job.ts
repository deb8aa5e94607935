import type { Sender } from "#runtime/channels/index.ts";
import type { SendOutcome, SmsMessage } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { storeMessages } from "#tools/mailbox/store-messages.ts";
import { chooseProviders } from "#tools/providers/choose.ts";
import { SEND_SMS_REPLY } from "#tools/sms/inbound.ts";
import { segmentsOf } from "#tools/sms/segments.ts";
import { replyText } from "./reply-text.ts";

/** The reply to STOP must arrive within five minutes (47 CFR 64.1200(a)(12)); a later reply is not sent. */
const WITHIN_SECONDS = 300;
const TRY_AGAIN_SECONDS = 20;

/** Replies to one STOP, START or HELP, at most once. */
const sendSmsReply = job({
  ...SEND_SMS_REPLY,
  sends: true,
  handler: answer,
});
export default sendSmsReply;

async function answer(job: JobContext, { messageId }: { messageId: string }): Promise<void> {
  const reply = await job.transact((context) => claim(context, job, messageId));
  if (!reply) return;
  const [outcome] = await reply.sender.send([reply.message], { signal: job.signal });
  await job.transact((context) => conclude(context, messageId, outcome!));
}

interface Claimed {
  status: string;
  action: "stop" | "start" | "help";
  sender: string | null;
  recipient: string;
  provider_id: string | null;
  late: boolean;
  /** A later text of the number says the opposite. */
  overtaken: boolean;
}

/**
 * Claims the reply for sending. A reply that was under way when the process died is repeated only if the provider
 * recognizes repeats.
 */
async function claim(
  context: Context,
  job: JobContext,
  id: string,
): Promise<{ sender: Sender<"sms">; message: SmsMessage } | null> {
  const { sql, property } = context;
  const [claimed] = await sql<Claimed[]>`
    select reply_status as status, action, sender, recipient, provider_id,
      received_at < now() - make_interval(secs => ${WITHIN_SECONDS}) as late,
      exists (select 1 from inbound_messages m
        where m.property_id = ${property.id} and m.sender_hash = i.sender_hash and m.id > i.id
          and m.action in ('stop', 'start') and i.action in ('stop', 'start') and m.action <> i.action) as overtaken
    from inbound_messages i where property_id = ${property.id} and id = ${id} for update`;
  if (!claimed || !["queued", "sending"].includes(claimed.status)) return null;
  const mark = (status: string, error: string | null = null, text: string | null = null) => sql`
    update inbound_messages set reply_status = ${status}, reply_error = ${error}, reply_text = ${text},
      updated_at = now()
    where property_id = ${property.id} and id = ${id}`;
  const route = await routeOf(context, job, claimed);
  const lost = claimed.status === "sending" && !route?.sender.repeatable;
  const idle = claimed.late || claimed.overtaken || claimed.sender === null;
  if (lost || idle || !route) {
    await mark(lost ? "unknown" : idle ? "expired" : "failed", route ? null : "no SMS provider may be used");
    return null;
  }
  const text = await replyText(context, claimed.action);
  await mark("sending", null, text);
  const message = { id, to: claimed.sender!, from: route.from, text, segments: segmentsOf(text).count };
  return { sender: route.sender, message };
}

/** The provider of the inbound text replies, from the number that got the text; without it, the property's choice. */
async function routeOf(
  context: Context,
  { runtime, transact }: JobContext,
  { provider_id, recipient }: Claimed,
): Promise<{ sender: Sender<"sms">; from: string } | null> {
  const named = provider_id ? await chooseProviders(context, "sms", provider_id) : [];
  const [chosen] = named.length > 0 ? named : await chooseProviders(context, "sms", null);
  if (!chosen) return null;
  const sender = runtime.open("sms", chosen, (messages) =>
    transact((inside) => storeMessages(inside, messages)),
  );
  const from = chosen.id === provider_id ? recipient : (chosen.fromAddress ?? recipient);
  return { sender, from };
}

async function conclude(
  { sql, property, enqueue }: Context,
  id: string,
  outcome: SendOutcome,
): Promise<void> {
  const again = outcome.status === "retry" && !outcome.fatal;
  const status = again ? "queued" : outcome.status === "retry" ? "failed" : outcome.status;
  await sql`
    update inbound_messages set reply_status = ${status},
      reply_error = ${outcome.status === "sent" ? null : `${outcome.code}: ${outcome.message}`.slice(0, 500)},
      replied_at = ${status === "sent" ? sql`now()` : null}, updated_at = now()
    where property_id = ${property.id} and id = ${id}`;
  if (again) enqueue(sendSmsReply, { messageId: id }, { runAt: outcome.retryAfter ?? TRY_AGAIN_SECONDS });
}
