import { z } from "zod";
import { literals } from "#db/sql.ts";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import type { Config } from "#runtime/config.ts";
import { job } from "#runtime/operation/job.ts";
import { ACTING_ROLES } from "#runtime/roles.ts";
import { sendPlatformMail } from "#tools/mailbox/platform-mail.ts";
import { type Waiting, waitingIn } from "./waiting.ts";

/** The most proposals that a mail names. */
const MOST_NAMED = 10;

/** Mails one person what waits for approval in the property, if anything still does. */
export default job({
  name: "mail_approvals",
  attempts: 5,
  sends: true,
  input: z.object({ userId: z.uuid() }),
  async handler(context, { userId }) {
    const found = await context.transact(async (inside) => ({
      name: inside.property.name,
      waiting: await waitingIn(inside, MOST_NAMED + 1),
    }));
    if (found.waiting.length === 0) return;
    const [user] = await context.transactSystem(
      (sql) => sql<{ email: string }[]>`
        select u.email from users u join memberships m on m.user_id = u.id and m.property_id = ${context.propertyId}
        where u.id = ${userId} and u.is_active and m.role in (${literals(ACTING_ROLES)})`,
    );
    if (user) await sendPlatformMail(context, messageTo(context.config, user.email, context.jobId, found));
  },
});

function messageTo(
  config: Config,
  to: string,
  id: string,
  { name, waiting }: { name: string; waiting: readonly Waiting[] },
): Omit<EmailMessage, "from"> {
  const property = name.replace(/\s+/g, " ");
  const count = waiting.length > MOST_NAMED ? `More than ${MOST_NAMED}` : String(waiting.length);
  const page = `${config.baseUrl}/console/approvals`;
  // No sentence of a proposal: it may name players.
  const named = waiting
    .slice(0, MOST_NAMED)
    .flatMap((one) => [`${one.title}, until ${one.expires_at}`, `${page}/${one.id}`, ""]);
  return {
    id,
    to,
    subject: `${count} ${waiting.length === 1 ? "proposal waits" : "proposals wait"} for approval at ${property}`,
    text: [
      `Agents and programs propose this at ${property}. A manager approves or refuses it:`,
      "",
      ...named,
      `All that waits: ${page}`,
      "",
      `An admin of ${property} turns these mails off in the console, under Settings.`,
    ].join("\n"),
    headers: {},
  };
}
