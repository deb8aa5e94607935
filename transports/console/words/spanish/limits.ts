import type { Words } from "#transports/console/words/english/english.ts";

export const limits: Words["limits"] = {
  whatWaits:
    "Lo que agentes y claves hagan por encima de un límite espera en Aprobaciones, y una persona lo decide. Sin límites nada espera.",
  players: "Jugadores en 24 horas",
  playersHint: "Todas las llamadas juntas. 0: espera toda llamada que llegue a jugadores. Vacío: sin límite.",
  cost: "Costo en 24 horas",
  costHint: "En la moneda de los precios de los proveedores. Vacío: sin límite.",
  fourEyes: "Cuatro ojos",
  fourEyesOff: "Basta una persona",
  fourEyesOn: "Nadie aprueba lo propio, y las personas también esperan",
  growth: "Crecimiento de una audiencia, en porcentaje",
  growthHint: "Una campaña se pausa si su audiencia ha crecido más desde que se aprobó.",
  adminSetsThem: "Un administrador fija los límites por encima de los cuales aprueban personas.",
  setThem: "Fijar los límites",
};
