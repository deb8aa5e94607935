import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { AppSecret } from "#runtime/config.ts";
import { Fault } from "#runtime/faults.ts";
import { locationOf, unseal } from "#runtime/secrets/sealing.ts";

/** The channels with vendors; the branded inbox has none. */
export type VendorChannel = Exclude<SendingChannel, "inbox">;

/** The address for a vendor's callbacks, as SQL over the names of its columns. */
export function callbackPath(kind: string, id: string): string {
  return `'/api/callbacks/' || ${kind} || '/' || ${id}::text`;
}

/** A provider's credentials, decrypted. Throws `invalid` when they cannot be decrypted. */
export function openCredentials(
  config: AppSecret,
  propertyId: string,
  { id, credentials }: { id: string; credentials: string },
): unknown {
  const place = locationOf("message_providers", "credentials", propertyId, id);
  try {
    return JSON.parse(unseal(config, place, credentials));
  } catch (cause) {
    const message = `The credentials of provider ${id} cannot be read; write them again with update_message_provider.`;
    throw new Fault("invalid", { message, cause });
  }
}
