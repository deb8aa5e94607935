import type { SendingChannel } from "#runtime/channels/channel.ts";
import type { ChosenProvider } from "#runtime/channels/index.ts";
import type { Config } from "#runtime/config.ts";

/** The provider that sends a property's messages on a channel. */
export function chooseProvider(config: Config, channel: SendingChannel): ChosenProvider {
  const { provider, smtpUrl, from } = config.email;
  if (channel === "email" && provider === "smtp") {
    return { id: null, name: "smtp", settings: { url: smtpUrl, ...(from && { from }) } };
  }
  return { id: null, name: "mailbox", settings: {} };
}
