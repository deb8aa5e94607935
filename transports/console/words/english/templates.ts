import { html } from "hono/html";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const templates = {
  templates: "Templates",
  thereNoTemplateYetTemplate: "There is no template yet. A template is content that campaigns share.",
  writeTheFirstTemplate: "Write the first template",
  newTemplate: "New template",
  changed: "Changed",
  theText: "The text",
  templateAsWritten: "The template as it is written",
  filledInForAPlayer: "A campaign shows it filled in for a player.",
  fieldsNamed: (fields: Shown) => `Fields: ${fields}. `,
  messageAsMjml: "Message, as MJML",
  fieldsAreInTexts: (liquid: Part) => html`Fields are ${liquid}. Text messages need the plain text alone.`,
  subjectOrTitle: "Subject or title",
  deleteTheTemplate: "Delete the template",
  makeCampaign: "Make a campaign of it",
};
