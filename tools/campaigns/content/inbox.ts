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
  const property = propertyVariables(context.property);
  const compiled = compiledOr(
    () => {
      const email = compileEmail({ subject, html, text });
      // Finds a variable that no player has. The preflight finds values that single players lack.
      const tried = email.render(playerVariables(completePlayer(email.variables), property));
      checkLinks(
        [
          { html, text },
          { html: tried.html, text: text && tried.text },
        ],
        context.config.baseUrl,
      );
      return email;
    },
    own ? { html: "body_html", text: "body_text" } : {},
  );
  if (Array.isArray(compiled)) return compiled;
  return {
    channel: "inbox",
    variables: compiled.variables,
    sentBy: (_, message) => message,
    messageTo: (recipient) => {
      const message = compiled.render(playerVariables(recipient, property));
      return { id: recipient.send_id, to: recipient.address, title: message.subject, text: message.text };
    },
  };
};
