import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import type { Sql } from "#db/database.ts";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import type { Config } from "#runtime/config.ts";
import { appendRows, PLATFORM_LEDGER } from "#runtime/ledgers.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { sendPlatformMail } from "#tools/mailbox/platform-mail.ts";
import { newToken, tokenHash } from "./reset-token.ts";

/** Mails a reset link to the account's user. For an address that has no account it ends at once. */
export default job({
  name: "send_password_reset",
  attempts: 5,
  sends: true,
  input: z.object({ email: z.string() }),
  async handler(context, { email }) {
    // Created here, and anew at each attempt: the job's input would store it on the queue.
    const token = newToken();
    if (!(await context.transactSystem((sql) => open(sql, context, email, token)))) return;
    await sendPlatformMail(context, messageTo(context.config, email, token));
  },
});

/** Replaces the account's older token. Answers whether the account exists. */
async function open(sql: Sql, { jobId }: JobContext, email: string, token: string): Promise<boolean> {
  const [user] = await sql<{ id: string }[]>`
    select id from users where email = ${email} and is_active for no key update`;
  if (!user) return false;
  await sql`
    insert into password_resets (user_id, token_hash) values (${user.id}, ${tokenHash(token)})
    on conflict (user_id) do update
      set token_hash = excluded.token_hash, expires_at = excluded.expires_at, created_at = excluded.created_at`;
  const done = { actor_type: "system", action: "send_password_reset", request_id: jobId };
  const row = { id: randomUUIDv7(), ...done, entity: "users", entity_id: user.id };
  await appendRows(sql, PLATFORM_LEDGER, [row]);
  return true;
}

function messageTo(config: Config, email: string, token: string): Omit<EmailMessage, "from"> {
  const link = `${config.baseUrl}/password-reset/${token}`;
  return {
    id: randomUUIDv7(),
    to: email,
    subject: "Set a new password",
    text: [
      "Somebody, we hope you, asked for a new password for this account.",
      "",
      `Set it here, within 30 minutes: ${link}`,
      "",
      "The link works once. If you did not ask, do nothing: your password stays as it is.",
    ].join("\n"),
    html: `<p>Somebody, we hope you, asked for a new password for this account.</p><p><a href="${link}">Set a new password</a></p><p>The link works once, within 30 minutes. If you did not ask, do nothing: your password stays as it is.</p>`,
    headers: {},
  };
}
