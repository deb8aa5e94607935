import { z } from "zod";
import type { Messages, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { maskAddress } from "#tools/people/address.ts";
import { ENCODINGS, segmentsOf } from "#tools/sms/segments.ts";
import type { RenderedMessage } from "./readiness.ts";

export const Sample = z.object({
  player_id: z.uuid(),
  variant_id: z.string().nullable().describe("Of the campaign's ab_test"),
  to: z.string().describe("Masked"),
  subject: z.string().nullable(),
  text: z.string(),
  html: z.string().nullable(),
  segments: z.int().nullable().describe("The billed segments of a text message"),
  encoding: z.enum(ENCODINGS).nullable().describe("Of a text message"),
  seconds: z.int().nullable().describe("About the length of a call"),
});
export type Sample = z.output<typeof Sample>;

/** A rendered message as the preflight shows it. */
export function sampleOf({ player_id, variant_id, message }: RenderedMessage): Sample {
  return { player_id, variant_id, ...fieldsOf(message) };
}

/** The fields of a sample that the message has. */
export function fieldsOf(message: Messages[SendingChannel]): Omit<Sample, "player_id" | "variant_id"> {
  const { text } = message;
  const plain = { subject: null, text, html: null, segments: null, encoding: null, seconds: null };
  if ("title" in message) return { ...plain, to: message.to, subject: message.title };
  const to = maskAddress(message.to);
  if ("subject" in message) return { ...plain, to, subject: message.subject, html: message.html ?? null };
  if ("script" in message) return { ...plain, to, seconds: message.seconds };
  const { count: segments, encoding } = segmentsOf(text);
  return { ...plain, to, segments, encoding };
}
