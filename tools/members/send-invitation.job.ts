import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import type { Sql } from "#db/database.ts";
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
    const invited = await context.transactSystem((sql) =>
      renew(sql, context.propertyId!, invitationId, token),
    );
    if (invited) await sendPlatformMail(context, messageTo(context.config, invited, token));
  },
});

/** Gives the invitation this token alone; undefined where it is not open any more. */
async function renew(sql: Sql, propertyId: string, id: string, token: string): Promise<Invited | undefined> {
  const [invited] = await sql<Omit<Invited, "property_name">[]>`
    update invitations set token_hash = ${tokenHash(token)}
    where property_id = ${propertyId} and id = ${id} and ${openInvitations(sql)} returning email, role`;
  if (!invited) return undefined;
  const [property] = await sql<{ name: string }[]>`select name from properties where id = ${propertyId}`;
  return { ...invited, property_name: property!.name };
}

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
