import { NIL_UUID } from "#db/types.ts";
import { compileParts, problemsOf } from "#tools/inbox/parts.ts";
import { messageLinks } from "#tools/player-links/links.ts";
import { compileEmail, playerVariables } from "#tools/templates/rendering/email-template.ts";
import { completePlayer } from "#tools/templates/rendering/player-fields.ts";
import { type Compile, checkLinks, compiledOr, propertyVariables, templateOf } from "./content.ts";

/** The message of a campaign for the branded inbox: the subject is its title. */
export const inboxContent: Compile<"inbox"> = async (context, campaign) => {
  const { template, deleted } = await templateOf(context, campaign);
  if (deleted.length > 0) return deleted;
  const own = campaign.body_text !== null || campaign.body_html !== null;
  const subject = campaign.subject ?? template?.subject ?? null;
  if (!subject) return [{ field: "subject", message: "the campaign has no subject, which is its title" }];
  const html = own ? campaign.body_html : (template?.html ?? null);
  const text = own ? campaign.body_text : (template?.text ?? null);
  if (!html && !text) {
    return [{ field: "body_text", message: "the campaign has no text; give body_text or template_id" }];
  }
  const wrong = problemsOf(campaign.inbox);
  if (wrong.length > 0) return wrong;
  const property = propertyVariables(context.property);
  const compiled = await compiledOr(
    context,
    () => {
      const email = compileEmail({ subject, html, text });
      const parts = compileParts(campaign.inbox, context.config.baseUrl);
      const names = [...email.variables, ...parts.variables];
      const pageLinks = messageLinks(context.config, context.property.id, names);
      // Finds a variable that no player has. The preflight finds values that single players lack.
      const player = playerVariables(completePlayer(names), property, pageLinks(NIL_UUID));
      const tried = email.render(player);
      parts.render(player);
      checkLinks(
        [
          { html, text },
          { html: tried.html, text: text && tried.text },
        ],
        context.config.baseUrl,
      );
      return { email, parts, names, pageLinks };
    },
    own ? { html: "body_html", text: "body_text" } : {},
  );
  if (Array.isArray(compiled)) return compiled;
  const { email, parts, names, pageLinks } = compiled;
  return {
    channel: "inbox",
    variables: [...new Set(names)],
    sentBy: (_, message) => message,
    messageTo: (recipient) => {
      const variables = playerVariables(recipient, property, pageLinks(recipient.send_id));
      const { subject: title, text: body } = email.render(variables);
      const { send_id: id, address: to } = recipient;
      return { id, to, title, text: body, ...(campaign.inbox && { parts: parts.render(variables) }) };
    },
  };
};
