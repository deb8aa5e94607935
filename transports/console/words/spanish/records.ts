import { html } from "hono/html";
import type { Words } from "#transports/console/words/english/english.ts";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const records: Words["records"] = {
  records: "Registros",
  openRecord: (id: Shown) => `Abrir ${id}`,
  thereNothingHereYet: "Aquí no hay nada todavía.",
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
