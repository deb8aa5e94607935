import { z } from "zod";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { sendPlatformMail } from "#tools/mailbox/platform-mail.ts";

/** Mails one of the property's admins and managers that an endpoint was switched off. */
export default job({
  name: "send_webhook_notice",
  attempts: 5,
  sends: true,
  input: z.object({ endpointId: z.uuid(), userId: z.uuid() }),
  async handler(context, { endpointId, userId }) {
    const switchedOff = await context.transact((inside) => find(inside, endpointId));
    if (!switchedOff) return;
    const to = await emailOf(context, userId);
    if (to) await sendPlatformMail(context, messageTo(to, context.jobId, switchedOff));
  },
});

interface SwitchedOff {
  id: string;
  property: string;
  url: string;
  reason: string;
}

/** Undefined when the endpoint is active again, or deleted. */
async function find({ sql, property }: Context, id: string): Promise<SwitchedOff | undefined> {
  const [found] = await sql<{ url: string; reason: string }[]>`
    select url, disabled_reason as reason from webhook_endpoints
    where property_id = ${property.id} and id = ${id} and not is_active and disabled_reason is not null`;
  return found && { id, property: property.name, ...found };
}

async function emailOf({ transactSystem }: JobContext, userId: string): Promise<string | undefined> {
  const [user] = await transactSystem(
    (sql) => sql<{ email: string }[]>`select email from users where id = ${userId} and is_active`,
  );
  return user?.email;
}

function messageTo(
  to: string,
  id: string,
  { id: endpoint, property, url, reason }: SwitchedOff,
): Omit<EmailMessage, "from"> {
  return {
    id,
    to,
    subject: "A webhook endpoint was switched off",
    text: [
      // The path of a URL may contain a secret of the receiver.
      `The webhook endpoint ${endpoint} of ${property}, at ${new URL(url).host}, was switched off.`,
      "",
      reason.replace(/\s+/g, " "),
      "",
      "It gets no more events. When the receiver is well again, set is_active to true with",
      "update_webhook_endpoint, and have what was discarded sent again with replay_webhooks.",
    ].join("\n"),
    headers: {},
  };
}
