import type { Words } from "#transports/console/words/english/english.ts";
import type { Noun } from "#transports/console/words/part.ts";

/** Whole millions take `de`: 1,000,000 de jugadores. */
const noun = (one: string, other = `${one}s`): Noun => ({ one, many: `de ${other}`, other });

export const nouns: Words["nouns"] = {
  campaign: noun("campaña"),
  day: noun("día"),
  entry: noun("entrada"),
  field: noun("campo"),
  hour: noun("hora"),
  message: noun("mensaje"),
  person: noun("persona"),
  player: noun("jugador", "jugadores"),
  row: noun("fila"),
  second: noun("segundo"),
  setting: noun("ajuste"),
  step: noun("paso"),
  week: noun("semana"),
};
