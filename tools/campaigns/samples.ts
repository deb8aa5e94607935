import { z } from "zod";
import { NIL_UUID } from "#db/types.ts";
import type { Messages, SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import { maskAddress } from "#tools/players/address.ts";
import { ENCODINGS, segmentsOf } from "#tools/sms/segments.ts";
import type { Campaign } from "./campaign.ts";
import type { Recipient } from "./claim.ts";
import type { Content } from "./content.ts";
import { ranOutOfTime } from "./liquid.ts";
import { firstAllowed } from "./planning.ts";
import { PLAYER_FIELDS } from "./player-fields.ts";
import { unsubscribeLinks } from "./unsubscribe.ts";
import { variantField } from "./variant-content.ts";

const SAMPLES = 3;

export const Sample = z.object({
  player_id: z.uuid(),
  variant_id: z.string().nullable().describe("Of the campaign's ab_test"),
  to: z.string().describe("Masked"),
  subject: z.string().nullable(),
  html: z.string().nullable(),
  text: z.string(),
  segments: z.int().nullable().describe("Of a text message: how many it is paid for as"),
  encoding: z.enum(ENCODINGS).nullable().describe("Of a text message"),
});
export type Sample = z.output<typeof Sample>;

/** The first messages as they would go out, and why others of them cannot be rendered. */
export interface Samples {
  samples: Sample[];
  broken: Broken[];
}

interface Broken extends FaultDetail {
  variant_id: string | null;
}

export async function renderSamples(
  context: Context,
  campaign: Campaign,
  content: Content,
): Promise<Samples> {
  const players = await firstAllowed(context, campaign, PLAYER_FIELDS, SAMPLES);
  const link = unsubscribeLinks(context.config)(context.property.id, NIL_UUID);
  const rendered: Samples = { samples: [], broken: [] };
  for (const [index, variant_id] of (content.variants ?? [null]).entries()) {
    for (const player of players) {
      try {
        const message = content.messageTo(recipientOf(context, player, variant_id), link);
        rendered.samples.push({ player_id: String(player.id), variant_id, ...shown(message) });
      } catch (error) {
        const fault = toFault(error);
        if (fault.status >= 500) throw error;
        // A message that the machine is too busy for is tried again when it is sent.
        if (ranOutOfTime(fault)) continue;
        const part = fault.details?.[0]?.field ?? "body_html";
        const field = variant_id === null ? part : variantField(index, part);
        const message = `cannot be rendered for player ${player.player_id}: ${fault.message}`;
        rendered.broken.push({ field, message, variant_id });
      }
    }
  }
  return rendered;
}

function recipientOf(
  { call }: Pick<Context, "call">,
  player: Record<string, unknown>,
  variant_id: string | null,
): Recipient {
  return {
    ...(call.masked ? unnamed(player) : player),
    send_id: NIL_UUID,
    address: String(player.address),
    ...(variant_id !== null && { variant_id }),
  };
}

/** The player's values without what says who they are: addresses in texts are masked on the way out. */
function unnamed(player: Record<string, unknown>): Record<string, unknown> {
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

function shown(message: Messages[SendingChannel]): Omit<Sample, "player_id" | "variant_id"> {
  const { text } = message;
  if ("title" in message) {
    return { to: message.to, subject: message.title, html: null, text, segments: null, encoding: null };
  }
  const to = maskAddress(message.to);
  if ("subject" in message) {
    return { to, subject: message.subject, html: message.html ?? null, text, segments: null, encoding: null };
  }
  const { count: segments, encoding } = segmentsOf(text);
  return { to, subject: null, html: null, text, segments, encoding };
}
