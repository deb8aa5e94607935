import { NIL_UUID } from "#db/types.ts";
import type { FaultDetail } from "#runtime/faults.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { compileParts, type InboxParts, liquidParts } from "#tools/inbox/parts.ts";
import { messageLinks, type PageLinks } from "#tools/player-links/links.ts";
import { compileEmail, playerVariables } from "#tools/templates/rendering/email-template.ts";
import { completePlayer } from "#tools/templates/rendering/liquid.ts";
import { type Part, tryParts } from "#tools/templates/rendering/trial.ts";
import {
  type CompileContext,
  checkHosts,
  checkLinks,
  compiledBeside,
  compiledOr,
  NO_SUBJECT,
  propertyVariables,
  type Recipient,
  templateOf,
} from "./content.ts";

/** One player's notice. */
export interface Notice {
  title: string;
  text: string;
  parts: InboxParts;
  links: PageLinks;
}

/** A title, a text and the campaign's inbox parts: the message of the inbox and of web push. */
export interface CompiledNotice {
  variables: readonly string[];
  /** Throws `invalid`, with the field, when it cannot be rendered. */
  render(recipient: Recipient): Notice;
}

/**
 * Compiles the campaign's notice. `alsoNamed`: variables that the channel itself uses. Answers a sentence for each field
 * that prevents it.
 */
export async function compileNotice(
  context: CompileContext,
  campaign: Campaign,
  alsoNamed: readonly string[] = [],
): Promise<CompiledNotice | FaultDetail[]> {
  const { template, deleted } = await templateOf(context, campaign);
  if (deleted.length > 0) return deleted;
  const own = campaign.body_text !== null || campaign.body_html !== null;
  const subject = campaign.subject ?? template?.subject ?? null;
  const missing = subject
    ? []
    : [{ field: "subject", message: "the campaign has no subject, which is its title" }];
  const html = own ? campaign.body_html : (template?.html ?? null);
  const text = own ? campaign.body_text : (template?.text ?? null);
  if (!html && !text) {
    return [
      ...missing,
      { field: "body_text", message: "the campaign has no text; give body_text or template_id" },
    ];
  }
  const { config, property } = context;
  const values = propertyVariables(property);
  const compiling = compiledOr(
    context,
    () => {
      // Finds a variable that no player has. The preflight finds values that single players lack.
      const texts: Part[] = [
        { field: "subject", source: subject, engine: "text" },
        { field: "html", source: html, engine: "html" },
        { field: "text", source: text, engine: "text" },
        ...liquidParts(campaign.inbox),
      ];
      tryParts(
        texts,
        (names) =>
          playerVariables(completePlayer(names), values, messageLinks(config, property.id, names)(NIL_UUID)),
        () => checkLinks([{ html, text }], config.baseUrl),
        () => checkHosts(html),
      );
      const email = compileEmail({ subject: subject || NO_SUBJECT, html, text });
      const parts = compileParts(campaign.inbox, config.baseUrl);
      const names = [...new Set([...email.variables, ...parts.variables])];
      const pageLinks = messageLinks(config, property.id, [...names, ...alsoNamed]);
      const render = (player: Record<string, unknown>, sendId: string) => {
        const links = pageLinks(sendId);
        const variables = playerVariables(player, values, links);
        const { subject: title, ...rendered } = email.render(variables);
        return { title, ...rendered, parts: parts.render(variables), links };
      };
      const tried = render(completePlayer(names), NIL_UUID);
      const bodies = [
        { html, text },
        { html: tried.html, text: text && tried.text },
      ];
      checkLinks(bodies, config.baseUrl);
      return {
        variables: names,
        render: (recipient: Recipient): Notice => {
          const { html: _, ...notice } = render(recipient, recipient.send_id);
          return notice;
        },
      };
    },
    own ? { html: "body_html", text: "body_text" } : {},
  );
  return compiledBeside(missing, compiling);
}
