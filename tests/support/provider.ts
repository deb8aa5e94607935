import { openChannels, type Sender } from "#runtime/channels/index.ts";
import type { Reach, SendingChannel, StoreMessages } from "#runtime/channels/provider/channel.ts";

/** One provider by itself, which the test closes. */
export function openProvider<C extends SendingChannel>(
  channel: C,
  name: string,
  settings: unknown,
  store: StoreMessages,
  { allowPrivate, callbackUrl }: Reach = { allowPrivate: true },
): Sender<C> & { close(): Promise<void> } {
  const channels = openChannels({ allowPrivate });
  const chosen = { name, settings, trusted: false, ...(callbackUrl && { callbackUrl }) };
  return { ...channels.open(channel, chosen, store), close: () => channels.close() };
}
