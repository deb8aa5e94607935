import { tenantOf } from "#runtime/funnel/access.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Actor, Call } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { readTimedToken, timedToken } from "#runtime/secrets/timed-links.ts";

const PURPOSE = "download";
/** The longest token that servers and shells take in an address. */
const MOST_CHARACTERS = 6_000;

/** A download: the operation with its input, as the caller who asked for the link. */
export interface Download {
  operation: string;
  input: Record<string, unknown>;
  actor: Actor;
  property: string | undefined;
}

/** A link to the operation's whole file. None where the input is too long for an address. */
export function downloadLink(
  { config, directory }: Pick<Service, "config" | "directory">,
  { operation, call, input }: { operation: Operation; call: Call; input: Record<string, unknown> },
): { url?: string; expires_at?: string } {
  const download: Download = {
    operation: operation.name,
    input,
    actor: call.actor,
    property: tenantOf(call),
  };
  const { token, expires_at } = timedToken(config, PURPOSE, directory.now(), download);
  if (token.length > MOST_CHARACTERS) return {};
  return { url: `${config.baseUrl}/downloads/${token}`, expires_at };
}

/** The download of a link; null for a link that is not ours, or has expired. */
export function readDownload(
  { config, directory }: Pick<Service, "config" | "directory">,
  token: string,
): Download | null {
  return readTimedToken<Download>(config, PURPOSE, directory.now(), token);
}
