import type { Words } from "#transports/console/words/english/english.ts";

export const reasons: Words["reasons"] = {
  banned: "El jugador tiene prohibida la entrada.",
  consent_expired: "El consentimiento ha vencido.",
  deceased: "El jugador ha fallecido.",
  deleted: "El registro del jugador está eliminado.",
  dnc: "El teléfono del jugador está en una lista de no llamar, que cierra todos los canales.",
  erased: "La persona pidió que se borraran sus datos.",
  invalid_address: "El jugador no tiene dirección para el canal, o no se puede entregar en ella.",
  needs_review: "Un texto de este número puede significar una baja y espera revisión.",
  no_consent: "El jugador no ha dado su consentimiento para el canal.",
  reassigned_number: "El número puede pertenecer ahora a otra persona.",
  self_excluded: "La persona se ha autoexcluido del juego.",
  shared_address:
    "Otro jugador con la misma dirección tiene prohibida la entrada, se autoexcluyó, falleció, está en vip_hold o rechazó el canal; o el correo compartido no se puede entregar.",
  suppressed: "La dirección está suprimida para el canal.",
  underage: "El jugador es menor que la edad mínima de la propiedad.",
  vip_hold: "El anfitrión del jugador ha pedido que no se le envíen mensajes.",
  frequency_capped: "El jugador ya recibió tantos mensajes como permite una regla de frecuencia.",
  quiet_hours: "En el lugar del jugador, o en uno posible, rige ahora el horario de silencio.",
  holdout:
    "El azar puso la dirección en el grupo de control de la campaña, que no recibe nada, para comparar.",
  duplicate_address:
    "Otro jugador de la audiencia tiene la misma dirección, y una dirección recibe una copia.",
  address_changed: "La dirección del jugador cambió después de planificar la campaña.",
  expired: "El mensaje esperó más de lo que permite la campaña.",
};

export const callReasons: Words["callReasons"] = {
  no_consent: "El jugador no ha dado su consentimiento del nivel express_written para las llamadas.",
};
