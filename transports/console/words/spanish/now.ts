import { html } from "hono/html";
import type { Words } from "#transports/console/words/english/english.ts";
import type { Part } from "#transports/console/words/part.ts";

export const now: Words["now"] = {
  now: "Ahora",
  nothingSendsAndNothingWaits: "No se envía nada y nada espera.",
  noJourneyRuns: "No hay recorridos en marcha.",
  startFromUsualOne: "Comenzar con uno habitual",
  noFileWasImportedYet: "Aún no se ha importado ningún archivo.",
  campaignsUnderWay: "Campañas en curso",
  latestImports: "Últimas importaciones",
  provider: "Proveedor",
  health: "Salud",
  aSecond: "Por segundo",
  aDay: "Por día",
  webhooksThatFail: "Webhooks con fallas",
  address: "Dirección",
  switchedOffBecause: "Desactivado porque",
  pauseAllOpens: "Pausar todos los envíos…",
  everyCampaignStopsAtOnce:
    "Todas las campañas se detienen de inmediato y las programadas esperan. Las respuestas a STOP siguen saliendo.",
  pauseAllSending: "Pausar todos los envíos",
  allSendingIsPaused: "Todos los envíos están en pausa",
  pausedSince: (time: Part, reason: Part, campaigns: Part) =>
    html`desde el ${time}${reason}. Continuarían ${campaigns}.`,
  nothingGoesOut: "No sale nada.",
  sendingIsOff: "El operador inició el servicio con SENDING=off. Los mensajes esperan.",
  sendingIsHeld:
    "La base de datos fue restaurada o clonada. Los mensajes esperan hasta que el operador libere los envíos.",
  resumeAllSending: "Reanudar todos los envíos",
  thereAreNoPlayersYet: "Aún no hay jugadores. Un gerente los importa.",
  firstSteps: "Primeros pasos",
  makeACampaign: "Crear una campaña",
};
