import { NIL_UUID } from "#db/types.ts";
import { counted } from "#runtime/counted.ts";
import { type FaultDetail, invalid } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { messageLinks } from "#tools/player-links/links.ts";
import { withOptOut } from "#tools/sms/opt-out-words.ts";
import { segmentsOf } from "#tools/sms/segments.ts";
import { playerVariables } from "#tools/templates/rendering/email-template.ts";
import { completePlayer, type ParsedField, parseField } from "#tools/templates/rendering/liquid.ts";
import { tryParts } from "#tools/templates/rendering/trial.ts";
import { type Compile, checkLinks, compiledOr, propertyVariables, templateOf } from "./content.ts";

// Carriers drop longer ones, and most vendors take 1600 characters at most.
const MOST_SEGMENTS = 10;

/** The text message of a campaign. Each says how to opt out: the player may read any of them first. */
export const smsContent: Compile<"sms"> = async (context, campaign) => {
  const compiled = await compile(context, campaign);
  if (Array.isArray(compiled)) return compiled;
  const { parsed, source } = compiled;
  const optOut = await optOutText(context);
  const property = propertyVariables(context.property);
  const pageLinks = messageLinks(context.config, context.property.id, parsed.variables);
  const render = (player: Record<string, unknown>, sendId = NIL_UUID) =>
    rendered(parsed, playerVariables(player, property, pageLinks(sendId)), optOut);
  // Finds a variable that no player has. The preflight finds values that single players lack.
  const tried = await compiledOr(
    context,
    () => {
      const player = completePlayer(parsed.variables);
      tryParts(
        [{ field: "text", source, engine: "text" }],
        () => playerVariables(player, property, pageLinks(NIL_UUID)),
        () => checkLinks([{ text: source }], context.config.baseUrl),
      );
      checkLinks([{ text: render(player) }], context.config.baseUrl);
    },
    { text: fieldOf(campaign) },
  );
  if (Array.isArray(tried)) return tried;
  return {
    channel: "sms",
    variables: parsed.variables,
    messageTo: (recipient) => {
      const text = render(recipient, recipient.send_id);
      return { id: recipient.send_id, to: recipient.address, text, segments: segmentsOf(text).count };
    },
    sentBy: ({ fromAddress }, message) => ({
      ...message,
      ...(fromAddress !== null && { from: fromAddress }),
    }),
  };
};

async function compile(
  context: Tenant,
  campaign: Campaign,
): Promise<{ parsed: ParsedField; source: string } | FaultDetail[]> {
  const { template, deleted } = await templateOf(context, campaign);
  if (deleted.length > 0) return deleted;
  const source = campaign.body_text ?? template?.text ?? null;
  if (!source) {
    return [{ field: "body_text", message: "the campaign has no text; give body_text or template_id" }];
  }
  return compiledOr(context, () => ({ parsed: parseField("text", source, "text"), source }), {
    text: fieldOf(campaign),
  });
}

/** The field that holds the text, in the campaign or its template. */
function fieldOf({ body_text }: Campaign): string {
  return body_text === null ? "text" : "body_text";
}

async function optOutText({ sql, property }: Tenant): Promise<string> {
  const [row] = await sql<{ text: string }[]>`
    select sms_opt_out_text as text from properties where id = ${property.id}`;
  return row!.text;
}

function rendered(parsed: ParsedField, variables: Record<string, unknown>, optOut: string): string {
  const body = parsed.render(variables).replace(/\r\n?/g, "\n").trim();
  if (body === "") throw invalid("text", "is empty for this recipient");
  const text = withOptOut(body, optOut);
  const { count } = segmentsOf(text);
  if (count > MOST_SEGMENTS) {
    throw invalid(
      "text",
      `takes ${counted(count, "segment")}, and a text message has at most ${MOST_SEGMENTS}`,
    );
  }
  return text;
}
