import { html } from "hono/html";
import type { Words } from "#transports/console/words/english/english.ts";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const players: Words["players"] = {
  thereAreNoPlayersYet: "Aún no hay jugadores. Un archivo de jugadores los incorpora.",
  nobodyHas: (wanted: Part) =>
    html`Ningún jugador tiene ${wanted}. Escriba completo el id de jugador, el correo o el teléfono.`,
  playerIdEmailOrPhone: "Id de jugador, correo o teléfono",
  find: "Buscar",
  recordTheRefusal: "Registrar la negativa",
  whatTheySaid: "Lo que dijo",
  suchAsAskedAtDesk: "Por ejemplo: lo pidió en el mostrador. Se guarda con la negativa.",
  eraseForGood: "Borrar definitivamente",
  writeToConfirm: (player: Part) => html`Escriba ${player} para confirmar`,
  ifThePersonAsks: "Si la persona lo pide",
  toHearNoMore: "No recibir más mensajes",
  fromNowOnNoMessage: "Desde ahora no se le envía ningún mensaje, y los que esperan se cancelan.",
  forCopyTheirData: "Una copia de sus datos",
  oneFileWithAllThat:
    "Un archivo con todo lo que se guarda de la persona. La exportación misma queda registrada.",
  erasureOpens: "Ser borrada…",
  allDataPersonGoesConsents:
    "Se eliminan todos los datos de la persona. Los consentimientos y envíos quedan sin la persona, como exige la ley. No se puede deshacer.",
  exportTheData: "Exportar los datos",
  erasedHeading: "El jugador está borrado",
  allDataPersonGone: "Todos los datos de la persona se han eliminado.",
  thePrivacyRequests: "Las solicitudes de privacidad",
  text: "Texto",
  nothingRecordedThisPlayerWas:
    "No hay nada registrado: a este jugador nunca se le preguntó. Los consentimientos llegan por importaciones, la página de preferencias o consent_record.",
  allThemToPrintFor: "Todos, para imprimir para una autoridad",
  messageOf: (channel: Part) => html`Mensaje por ${channel}`,
  itsCampaign: "Su campaña",
  aTest: " Una prueba.",
  consentForThen: (channel: Part, action: Part, source: Part) =>
    html`Consentimiento para ${channel} ${action}${source}`,
  atSource: (source: Shown) => ` en ${source}`,
  aJourney: "un recorrido",
  nowAt: (node: Shown) => `, ahora en ${node}`,
  played: "Jugó",
  aGame: "un juego",
  allOfIt: (tables: Part) => html`Todo: ${tables}`,
  nothingKnownThisPlayerBeyond:
    "No se sabe nada de este jugador fuera del registro. Los eventos vienen de los sistemas del casino.",
  timeline: "Historial",
  leftOutFor: (reasons: Shown) => `excluido: ${reasons}.`,
  mayWeContactThisPlayer: "¿Podemos contactar a este jugador?",
  verdictOf: (gate: Part) =>
    html`El veredicto del ${gate} ahora. Cada mensaje se revisa con las mismas reglas.`,
  verdictsByChannel: "Veredictos por canal",
  verdict: "Veredicto",
  messageWaits: (until: Part, reasons: Part) => html`Un mensaje espera${until}: ${reasons}.`,
  messageIsDropped: (until: Part, reasons: Part) => html`Un mensaje se descarta${until}: ${reasons}.`,
  entered: "Entró en",
  consentsInForce: "Consentimientos vigentes",
  neverAsked: "nunca se le preguntó",
  endsOn: "Vence",
  consentsOverTime: "Historial de consentimientos",
  seeAllPlayers: "Ver todos los jugadores",
};
