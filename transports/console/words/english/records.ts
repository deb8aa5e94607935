import { html } from "hono/html";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const records = {
  records: "Records",
  openRecord: (id: Shown) => `Open ${id}`,
  thereNothingHereYet: "There is nothing here yet.",
  makeTheFirstOne: "Make the first one.",
  theyComeFromThere: "They come from this page.",
  programsAddThemWith: (operation: Part) =>
    html`Programs and agents add them with <code>${operation}</code>.`,
  serviceWritesThem: "The service writes them by itself, when what they tell of happens.",
  theGuideSaysHow: "The guide says how.",
  seeAllRows: "See all rows.",
  nothingHereFitsFilter: "Nothing here fits the filter.",
  onlyWithStatus: (status: Part) => html`Only those whose status is ${status}.`,
  comparison: "Comparison",
  value: "Value",
  filter: "Filter",
  operators: {
    eq: "is",
    neq: "is not",
    gte: "is at least",
    lte: "is at most",
    ilike: "is like (% for any text)",
  },
};
