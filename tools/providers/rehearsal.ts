import { z } from "zod";
import type { Notice, StoredMessage } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { QueuedNotice } from "./notice.ts";

/** Addresses to which the built-in mailbox answers as a vendor would. No mail server has the domain (RFC 2606). */
const REHEARSAL = /^(bounce|soft-bounce|complaint)(?:\+[^@]*)?@rehearsal\.example$/;

/** The job that applies the notices of a rehearsal. */
export const RehearseNotices = {
  name: "rehearse_notices",
  attempts: 20,
  input: z.object({ providerId: z.uuid().nullable(), notices: z.array(QueuedNotice) }),
} as const;

/** Lets the mails to rehearsal addresses bounce or complain, once their hand-over is recorded. */
export function rehearse(
  { enqueue, now }: Context,
  providerId: string | null,
  stored: readonly StoredMessage[],
): void {
  const at = new Date(now()).toISOString();
  const notices = stored.flatMap(({ channel, message }): Notice[] => {
    const [, what] = (channel === "email" && REHEARSAL.exec(message.to)) || [];
    if (what === undefined) return [];
    const about = { eventId: `rehearsal:${message.id}`, at, sendId: message.id };
    if (what === "complaint") return [{ ...about, kind: "complained" }];
    const permanent = what === "bounce";
    return [{ ...about, kind: "bounced", permanent, code: "rehearsal", message: "A rehearsal address." }];
  });
  if (notices.length > 0) enqueue(RehearseNotices, { providerId, notices });
}
