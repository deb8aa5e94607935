import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import type { Config } from "#runtime/config.ts";
import { job } from "#runtime/operation/job.ts";
import { newToken, tokenHash } from "#tools/auth/reset-token.ts";
import { sendPlatformMail } from "#tools/mailbox/platform-mail.ts";
import { openInvitations } from "./member.ts";

interface Invited {
  email: string;
  role: string;
  property_name: string;
}

/** Mails the link of an invitation that is still open. */
export default job({
  name: "send_invitation",
  attempts: 5,
  sends: true,
  input: z.object({ invitationId: z.uuid() }),
  async handler(context, { invitationId }) {
    // Made here, and anew at each attempt: the job's input would store it on the queue.
    const token = newToken();
    const [invited] = await context.transactSystem(
      (sql) => sql<Invited[]>`
      update invitations i set token_hash = ${tokenHash(token)} from properties p
      where p.id = i.property_id and i.property_id = ${context.propertyId} and i.id = ${invitationId}
        and ${openInvitations(sql)}
      returning i.email, i.role, p.name as property_name`,
    );
    if (invited) await sendPlatformMail(context, messageTo(context.config, invited, token));
  },
});

function messageTo(
  config: Config,
  { email, role, property_name }: Invited,
  token: string,
): Omit<EmailMessage, "from"> {
  const property = property_name.replace(/\s+/g, " ");
  return {
    id: randomUUIDv7(),
    to: email,
    subject: `You are invited to ${property}`,
    text: [
      `An admin of ${property} invites you to its marketing console, as ${role}.`,
      "",
      `Accept within 7 days: ${config.baseUrl}/console/invitation/${token}`,
      "",
      "The link works once. If you do not know them, do nothing.",
    ].join("\n"),
    headers: {},
  };
}
