import { html } from "hono/html";
import type { Words } from "#transports/console/words/english/english.ts";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const records: Words["records"] = {
  records: "Registros",
  openRecord: (id: Shown) => `Abrir ${id}`,
  thereNothingHereYet: "Aquí no hay nada todavía.",
  makeTheFirstOne: "Crear el primero.",
  theyComeFromThere: "Vienen de esta página.",
  programsAddThemWith: (operation: Part) =>
    html`Los programas y agentes los agregan con <code>${operation}</code>.`,
  serviceWritesThem: "El servicio los escribe por sí mismo, cuando ocurre lo que cuentan.",
  theGuideSaysHow: "La guía dice cómo.",
  seeAllRows: "Ver todas las filas.",
  nothingHereFitsFilter: "Nada coincide con el filtro.",
  onlyWithStatus: (status: Part) => html`Solo los que tienen el estado ${status}.`,
  comparison: "Comparación",
  value: "Valor",
  filter: "Filtrar",
  operators: {
    eq: "es",
    neq: "no es",
    gte: "es al menos",
    lte: "es como máximo",
    ilike: "es como (% por cualquier texto)",
  },
};
