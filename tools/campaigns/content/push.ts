import type { PushDevice, PushMessage } from "#runtime/channels/provider/channel.ts";
import { MOST_BYTES, payloadOf } from "#runtime/channels/push/notification.ts";
import { invalid } from "#runtime/faults.ts";
import { EXPIRES_AFTER_HOURS } from "#tools/campaigns/campaign/columns.ts";
import type { InboxParts } from "#tools/inbox/parts.ts";
import { trackedLink } from "#tools/tracking/track-mail.ts";
import type { Compile, Content, Recipient } from "./content.ts";
import { type CompiledNotice, compileNotice } from "./notice.ts";

/** Without `inbox.cta_url`, a click opens the player's inbox. */
const DEFAULT_TARGET = "inbox_url";
const LONGEST_TTL = EXPIRES_AFTER_HOURS * 3_600;
const DAY = 86_400;

/** The notification of a campaign for web push: the subject is its title, and a click opens `inbox.cta_url`. */
export const pushContent: Compile<"push"> = async (context, campaign) => {
  const target = campaign.inbox?.cta_url;
  const notice = await compileNotice(context, campaign, target === undefined ? [DEFAULT_TARGET] : []);
  if (Array.isArray(notice)) return notice;
  const topic = campaign.id.replaceAll("-", "");
  const content = (track: (sendId: string, url: string) => string): Content<"push"> => ({
    channel: "push",
    variables: notice.variables,
    sentBy: (_, message) => message,
    messageTo: (recipient) => messageFor(notice, recipient, topic, track),
  });
  return {
    ...content((_, url) => url),
    outgoing: async (delivery) =>
      content(await trackedLink(delivery, campaign, target ?? `{{ ${DEFAULT_TARGET} }}`)),
  };
};

function messageFor(
  notice: CompiledNotice,
  recipient: Recipient,
  topic: string,
  track: (sendId: string, url: string) => string,
): PushMessage {
  const { title, text, parts, links } = notice.render(recipient);
  const { send_id: id, address: to } = recipient;
  const url = track(id, parts.cta_url ?? links[DEFAULT_TARGET]!);
  const bytes = Buffer.byteLength(payloadOf({ title, text, url, topic }));
  if (bytes > MOST_BYTES) {
    throw invalid("text", `makes a notification of ${bytes} bytes, and push services take ${MOST_BYTES}`);
  }
  return {
    id,
    to,
    title,
    text,
    url,
    topic,
    ttl: secondsToLive(recipient, parts),
    devices: devicesIn(recipient),
  };
}

/** A preview has no devices. */
function devicesIn({ devices }: Recipient): PushDevice[] {
  return Array.isArray(devices) ? devices : [];
}

/** Seconds until the message would come too late: its offer is over, its campaign's time, or the player's open hours. */
function secondsToLive({ latest }: Recipient, { offer, expires_at, expires_after_days }: InboxParts): number {
  const ends = [latest, offer?.expires_at, expires_at].flatMap((end) =>
    typeof end === "string" ? [end] : [],
  );
  const seconds = [
    LONGEST_TTL,
    ...ends.map((end) => Math.floor((Date.parse(end) - Date.now()) / 1000)),
    ...[offer?.valid_days, expires_after_days].flatMap((days) => (days === undefined ? [] : [days * DAY])),
  ];
  return Math.max(0, Math.min(...seconds));
}
