import { z } from "zod";
import { sql as fragment, identifier, join } from "#db/sql.ts";
import { one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { linksIn } from "#tools/campaigns/content/content.ts";
import { compileContent, MADE_UP, renderedFor } from "#tools/campaigns/preflight/readiness.ts";
import { fieldsOf, Sample } from "#tools/campaigns/preflight/sample.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import { preheaderIn } from "#tools/templates/rendering/email-template.ts";
import { completePlayer, PLAYER_FIELDS } from "#tools/templates/rendering/liquid.ts";
import { testedVariant, toEverybody } from "./test-send.ts";

const Message = Sample.extend({
  player_id: z.uuid().nullable().describe("null: made-up values fill the message"),
  from: z.string().nullable().describe("Of an email"),
  preheader: z.string().nullable().describe("Of an email"),
  bytes: z.int().describe("The size of the message's bodies"),
  links: z
    .array(z.object({ url: z.string(), ok: z.boolean().describe("false: sending refuses it, as not https") }))
    .describe("All links of the HTML"),
});

/** A campaign's message to one player, or what prevents it. */
export const ShownMessage = z.object({
  message: Message.nullable().describe("null: problems prevent it"),
  problems: z.array(z.object({ field: z.string(), message: z.string() })),
});

/** Renders the message for one player, whether or not the gate allows it; made-up values stand for no player. */
export async function shownTo(
  context: Context,
  campaign: Campaign,
  { playerId, variantId }: { playerId?: string | undefined; variantId?: string | undefined },
): Promise<z.output<typeof ShownMessage>> {
  // A message can be looked at before its campaign has an audience.
  const channel = sendingChannel(campaign);
  const { content, problems } = await compileContent(channel, context, toEverybody(campaign));
  if (!content) {
    return { message: null, problems: problems.map(({ field, message }) => ({ field, message })) };
  }
  const player = playerId
    ? await playerFor(context, campaign, playerId)
    : { ...completePlayer(content.variables), address: MADE_UP[channel] };
  const variant_id = testedVariant(content, variantId);
  const message = await renderedFor(context, content, player, variant_id);
  const fields = fieldsOf(message);
  const about = {
    player_id: playerId ?? null,
    variant_id,
    ...fields,
    from: "from" in message && typeof message.from === "object" ? senderWords(message.from) : null,
    preheader: fields.html === null ? null : preheaderIn(fields.html),
    bytes: Buffer.byteLength(fields.text) + Buffer.byteLength(fields.html ?? ""),
  };
  const links = linksIn(fields.html ?? "", context.config.baseUrl);
  return {
    message: { ...about, links: links.map(({ url, isAllowed }) => ({ url, ok: isAllowed })) },
    problems: [],
  };
}

const FIELDS = join(PLAYER_FIELDS.map((field) => fragment`p.${identifier(field)}`));

async function playerFor(
  { sql, property }: Context,
  campaign: Campaign,
  id: string,
): Promise<Record<string, unknown>> {
  const { address } = ADDRESS_COLUMNS[sendingChannel(campaign)];
  const rows = await sql<Record<string, unknown>[]>`
    select p.id, ${address} as address, ${FIELDS} from players p
    where p.property_id = ${property.id} and p.id = ${id} and p.deleted_at is null`;
  return one(rows, "player", id);
}

function senderWords({ email, name }: { email: string; name?: string }): string {
  return name ? `${name} <${email}>` : email;
}
