import type { FaultDetail } from "#runtime/faults.ts";
import { invalid } from "#runtime/faults.ts";
import { withOptOut } from "#tools/sms/opt-out-words.ts";
import { segmentsOf } from "#tools/sms/segments.ts";
import type { Campaign } from "./campaign.ts";
import { type Compile, compiledOr, propertyVariables, type Setting, templateOf } from "./content.ts";
import { checkLinks } from "./links.ts";
import { type Part, parsePart } from "./liquid.ts";
import { completePlayer } from "./player-fields.ts";
import { playerVariables } from "./render.ts";

// Carriers drop longer ones, and most vendors take 1600 characters at most.
const MOST_SEGMENTS = 10;

/** The text message of a campaign. Each says how to opt out, because nobody can tell which one is read first. */
export const smsContent: Compile<"sms"> = async (context, campaign) => {
  const compiled = await compile(context, campaign);
  if (Array.isArray(compiled)) return compiled;
  const { part, source } = compiled;
  const optOut = await optOutText(context);
  const property = propertyVariables(context.property);
  const render = (player: Record<string, unknown>) =>
    rendered(part, playerVariables(player, property), optOut);
  const field = campaign.body_text === null ? "text" : "body_text";
  // Shows a variable that no player can have; what single players lack, the preflight shows.
  const tried = compiledOr(
    () => {
      const text = render(completePlayer(part.variables));
      checkLinks([{ text: source }, { text }], context.config.baseUrl);
    },
    { text: field },
  );
  if (Array.isArray(tried)) return tried;
  return {
    channel: "sms",
    messageTo: (recipient) => {
      const text = render(recipient);
      return { id: recipient.send_id, to: recipient.address, text, segments: segmentsOf(text).count };
    },
    sentBy: ({ fromAddress }, message) => ({
      ...message,
      ...(fromAddress !== null && { from: fromAddress }),
    }),
  };
};

async function compile(
  context: Setting,
  campaign: Campaign,
): Promise<{ part: Part; source: string } | FaultDetail[]> {
  const { template, deleted } = await templateOf(context, campaign);
  if (deleted.length > 0) return deleted;
  const source = campaign.body_text ?? template?.text ?? null;
  if (!source) {
    return [{ field: "body_text", message: "the campaign has no text; give body_text or template_id" }];
  }
  const field = campaign.body_text === null ? "text" : "body_text";
  return compiledOr(() => ({ part: parsePart("text", source, "text"), source }), { text: field });
}

async function optOutText({ sql, property }: Setting): Promise<string> {
  const [row] = await sql<{ text: string }[]>`
    select sms_opt_out_text as text from properties where id = ${property.id}`;
  return row!.text;
}

function rendered(part: Part, variables: Record<string, unknown>, optOut: string): string {
  const words = part.render(variables).replace(/\r\n?/g, "\n").trim();
  if (words === "") throw invalid("text", "is empty for this recipient");
  const text = withOptOut(words, optOut);
  const { count } = segmentsOf(text);
  if (count > MOST_SEGMENTS) {
    throw invalid("text", `takes ${count} segments, and a text message has at most ${MOST_SEGMENTS}`);
  }
  return text;
}
