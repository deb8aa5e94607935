import type { Noun } from "#transports/console/words/part.ts";

const plain = (one: string): Noun => ({ one, other: `${one}s` });

/** Things that are counted. */
export const nouns = {
  campaign: plain("campaign"),
  day: plain("day"),
  entry: { one: "entry", other: "entries" } as Noun,
  field: plain("field"),
  hour: plain("hour"),
  message: plain("message"),
  person: { one: "person", other: "people" } as Noun,
  player: plain("player"),
  row: plain("row"),
  second: plain("second"),
  setting: plain("setting"),
  step: plain("step"),
  week: plain("week"),
};
