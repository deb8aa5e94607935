import type { Words } from "#transports/console/words/english/english.ts";

export const terms: Words["terms"] = {
  adt: ["ADT", "Teórico diario promedio: la ganancia teórica de un día de juego, en promedio."],
  theo: ["teórico", "Ganancia teórica: el dinero que la casa espera ganar de las apuestas de un jugador."],
  theo_uplift: [
    "Teórico adicional",
    "Ganancia teórica de los destinatarios, menos la de igual número de jugadores del grupo de control.",
  ],
  holdout: [
    "grupo de control",
    "Una parte de la audiencia, elegida al azar, que no recibe nada, para comparar.",
  ],
  gate: [
    "filtro de cumplimiento",
    "Las reglas por las que pasa cada mensaje: consentimiento, supresión, autoexclusión, edad, horario y límites.",
  ],
  human: [
    "de personas",
    "Sin las aperturas y los clics de proxies de privacidad, filtros y escáneres, que abren el correo de forma automática.",
  ],
  converted: ["Convirtieron", "Destinatarios que alcanzaron la meta de la campaña dentro de su plazo."],
  redeemed: ["Canjearon", "Destinatarios que canjearon un premio o una oferta de esta campaña."],
  segment: ["segmento", "Una audiencia guardada: sus reglas se evalúan de nuevo cada vez que se usa."],
  suppression: ["supresión", "Una dirección que no recibe nada: rebotó, se quejó o su dueño pidió la baja."],
  quiet_hours: [
    "horario de silencio",
    "Horas, según la ley de cada lugar, en que los mensajes esperan, por el reloj de cada jugador.",
  ],
  cap: [
    "límite de frecuencia",
    "El máximo de mensajes que recibe un jugador en un período. El siguiente espera.",
  ],
  preheader: [
    "preencabezado",
    "La línea que los programas de correo muestran junto al asunto, antes de abrir el correo.",
  ],
  liquid: [
    "Liquid",
    'El lenguaje de los campos en los textos, como {{ first_name | default: "amigo" }}, que se llenan para cada jugador.',
  ],
  dry_run: ["prueba sin cambios", "Lee y cuenta el archivo completo, y no escribe nada."],
  consent: [
    "consentimiento",
    "El permiso registrado de un jugador para un canal, con su origen, texto y hora.",
  ],
};
