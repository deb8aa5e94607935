import { z } from "zod";
import { columns } from "#tools/campaigns/campaign/columns.ts";
import type { NodeKind } from "./node.ts";

/** The parts of a campaign that a message node has. */
const own = {
  template_id: columns.template_id.schema,
  subject: columns.subject.schema,
  preheader: columns.preheader.schema,
  from_name: columns.from_name.schema,
  from_email: columns.from_email.schema,
  reply_to: columns.reply_to.schema,
  provider_id: columns.provider_id.schema,
  body_html: columns.body_html.schema,
  body_mjml: columns.body_mjml.schema,
  body_text: columns.body_text.schema,
  throttle_per_minute: columns.throttle_per_minute.schema,
  ignore_frequency_cap: columns.ignore_frequency_cap.schema,
  is_transactional: columns.is_transactional.schema,
  tags: columns.tags.schema,
  utm: columns.utm.schema,
  inbox: columns.inbox.schema,
  voice_script: columns.voice_script.schema,
  goal: columns.goal.schema,
};

export const MessageConfig = z.strictObject({ channel: columns.channel.schema, ...own });
export type MessageConfig = z.output<typeof MessageConfig>;

export const SENT = "sent";
export const NOT_SENT = "not_sent";

/** Sends one message. It has steps of its own: see steps/send.ts. */
export const message: NodeKind<MessageConfig> = {
  type: "message",
  meaning:
    "Sends one message by the rules of campaigns: compliance gate, quiet hours, frequency caps, one copy an address. Edges: sent, and not_sent where it was skipped or failed; one edge without a label serves both.",
  config: MessageConfig,
  labels: () => [SENT, NOT_SENT],
};
