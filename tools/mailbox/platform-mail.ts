import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import type { Config } from "#runtime/config.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import { configuredProvider } from "#tools/providers/choose.ts";
import { storePlatformMessages } from "./store-messages.ts";

/** Sends a message that belongs to no property. Throws when it was not sent, so that the job is tried again. */
export async function sendPlatformMail(
  { runtime, config, log, signal, transactSystem }: JobContext,
  message: Omit<EmailMessage, "from">,
): Promise<void> {
  const sender = runtime.open("email", configuredProvider(config, "email"), (messages) =>
    transactSystem((sql) => storePlatformMessages(sql, messages)),
  );
  const from = { email: platformSender(config), name: "Player Marketing" };
  const [outcome] = await sender.send([{ ...message, from }], { signal });
  if (outcome?.status !== "sent") {
    throw new Error(`The mail was not sent (${outcome?.code}): ${outcome?.message}`);
  }
  if (config.email.provider !== "mailbox") return;
  log.warn(
    "EMAIL_PROVIDER is mailbox: a mail of the platform was kept and not sent. Read it with: npm run tool -- list-platform-messages",
  );
}

function platformSender({ email, siteUrl }: Config): string {
  const { hostname } = new URL(siteUrl);
  return email.from ?? `no-reply@${/^[a-z][a-z0-9.-]*$/i.test(hostname) ? hostname : "localhost"}`;
}
