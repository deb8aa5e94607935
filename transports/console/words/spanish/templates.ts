import { html } from "hono/html";
import type { Words } from "#transports/console/words/english/english.ts";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const templates: Words["templates"] = {
  templates: "Plantillas",
  thereNoTemplateYetTemplate: "Aún no hay plantillas. Una plantilla es contenido que comparten las campañas.",
  writeTheFirstTemplate: "Redactar la primera plantilla",
  newTemplate: "Nueva plantilla",
  changed: "Cambiada",
  theText: "El texto",
  templateAsWritten: "La plantilla como está escrita",
  filledInForAPlayer: "Una campaña la muestra con los datos de un jugador.",
  fieldsNamed: (fields: Shown) => `Campos: ${fields}. `,
  messageAsMjml: "Mensaje, en MJML",
  fieldsAreInTexts: (liquid: Part) =>
    html`Los campos son ${liquid}. Los mensajes de texto solo necesitan el texto sin formato.`,
  subjectOrTitle: "Asunto o título",
  deleteTheTemplate: "Eliminar la plantilla",
  makeCampaign: "Crear una campaña con ella",
};
