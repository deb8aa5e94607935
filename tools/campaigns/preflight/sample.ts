import { z } from "zod";
import { NIL_UUID } from "#db/types.ts";
import type { Messages, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { inTurns } from "#runtime/limits/turns.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Content, Recipient } from "#tools/campaigns/content/content.ts";
import { maskAddress } from "#tools/people/address.ts";
import { unsubscribeLinks } from "#tools/preferences/links.ts";
import { ENCODINGS, segmentsOf } from "#tools/sms/segments.ts";

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

/** Renders the content for one player, whose row has the columns of templates and `address`. Throws as `messageTo`. */
export async function renderedFor(
  context: Context,
  content: Content,
  player: Record<string, unknown>,
  variant_id: string | null,
): Promise<Messages[SendingChannel]> {
  const link = unsubscribeLinks(context.config)(context.property.id, NIL_UUID);
  const recipient = recipientOf(context, player, variant_id);
  return inTurns(context.property.id, () => content.messageTo(recipient, link));
}

function recipientOf(
  { call }: Pick<Context, "call">,
  player: Record<string, unknown>,
  variant_id: string | null,
): Recipient {
  return {
    ...(call.masked ? pseudonymous(player) : player),
    send_id: NIL_UUID,
    address: String(player.address),
    ...(variant_id !== null && { variant_id }),
  };
}

/** The player's values without full names and birth dates. Addresses in texts are masked in the answer. */
function pseudonymous(player: Record<string, unknown>): Record<string, unknown> {
  const { first_name, last_name, birth_date } = player;
  return {
    ...player,
    first_name: initial(first_name),
    last_name: initial(last_name),
    birth_date: typeof birth_date === "string" ? `${birth_date.slice(0, 4)}-01-01` : null,
  };
}

function initial(name: unknown): string | null {
  return typeof name === "string" ? `${[...name][0] ?? ""}•••` : null;
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
