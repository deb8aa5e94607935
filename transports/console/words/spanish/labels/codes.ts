import type { PROPOSAL_STATUSES } from "#tools/approvals/proposals.table.ts";
import type { NoConsent } from "#tools/campaigns/stats/answer.ts";
import type { BlockReason } from "#tools/compliance/gate.ts";
import type { DeferReason } from "#tools/compliance/hours.ts";
import type { SuppressionReason } from "#tools/compliance/suppressions.table.ts";
import type { ConsentAction, ConsentLevel } from "#tools/consent/consent-records.table.ts";
import type { TYPES as GAME_TYPES } from "#tools/games/game/columns.ts";
import type { PLAY_STATUSES } from "#tools/games/play/columns.ts";
import type { RowErrorView } from "#tools/imports/job/row-error.ts";
import type { JOB_STATUSES } from "#tools/jobs/async-job.ts";
import type { ENROLLMENT_STATUSES } from "#tools/journeys/enrollment/journey-enrollments.table.ts";
import type { STATUSES as JOURNEY_STATUSES } from "#tools/journeys/journey/columns.ts";
import type { NodeType } from "#tools/journeys/nodes/all.ts";
import type { RecipeSettings } from "#tools/journeys/recipes/recipes.ts";
import type { Health } from "#tools/providers/columns.ts";
import type { CAMPAIGN_STATUSES } from "#tools/statuses/campaigns.ts";
import type { EMAIL_STATUSES, PlayerStatus } from "#tools/statuses/players.ts";
import type { SEND_STATUSES } from "#tools/statuses/sends.ts";
import type { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import type { ColorName } from "#tools/themes/theme.ts";
import type { CallOutcome } from "#tools/voice/engine/outcomes.ts";
import type { Persona } from "#tools/voice/simulator/personas.ts";
import type { CALL_STATUSES } from "#tools/voice-calls/voice-calls.table.ts";

/** The codes that people meet on the pages. Each must have a label to compile. */
type Code =
  | (typeof CALL_STATUSES)[number]
  | (typeof CAMPAIGN_STATUSES)[number]
  | (typeof EMAIL_STATUSES)[number]
  | (typeof ENROLLMENT_STATUSES)[number]
  | (typeof GAME_TYPES)[number]
  | (typeof JOB_STATUSES)[number]
  | (typeof JOURNEY_STATUSES)[number]
  | (typeof MESSAGE_CHANNELS)[number]
  | (typeof PLAY_STATUSES)[number]
  | (typeof PROPOSAL_STATUSES)[number]
  | (typeof SEND_STATUSES)[number]
  | BlockReason
  | CallOutcome
  | ColorName
  | ConsentAction
  | ConsentLevel
  | DeferReason
  | Health
  | keyof NoConsent
  | NodeType
  | Persona
  | PlayerStatus
  | RecipeSettings["recipe"]
  | RowErrorView["code"]
  | SuppressionReason;

export const codes: Readonly<Record<Code, string>> = {
  abandoned: "abandonada",
  accent: "acento",
  active: "activo",
  add_to_segment: "añadir a un segmento",
  approved: "aprobada",
  archived: "archivado",
  asks_who: "pregunta quién llama",
  banned: "entrada prohibida",
  barred: "no permitida",
  big_loss_check_in: "contacto tras una gran pérdida",
  birthday: "cumpleaños",
  bounced: "rebotado",
  branch: "bifurcación",
  brand: "marca",
  busy: "ocupado",
  cancelled: "cancelado",
  claimed: "reclamado",
  complaint: "queja",
  completed: "completado",
  conflict: "conflicto",
  consent_expired: "consentimiento vencido",
  deceased: "fallecido",
  deferred: "aplazado",
  delay: "espera",
  deleted: "eliminado",
  deliverable: "se puede entregar",
  delivered: "entregado",
  denied: "negado",
  dnc: "lista de no llamar",
  draft: "borrador",
  dropped: "cortada",
  duplicate_in_file: "repetido en el archivo",
  email: "correo electrónico",
  ended: "terminado",
  erased: "borrado",
  exit: "salida",
  exited: "salió",
  expired: "vencido",
  express: "expreso",
  express_written: "expreso por escrito",
  failed: "fallido",
  failing: "con fallas",
  frequency_capped: "límite de frecuencia alcanzado",
  goal: "meta",
  grant_game_play: "dar una jugada",
  granted: "otorgado",
  ground: "fondo",
  hangs_up: "cuelga",
  hard_bounce: "rebote permanente",
  hung_up: "colgó",
  implied: "implícito",
  import: "importación",
  in_progress: "en curso",
  inactive: "inactivo",
  inbox: "bandeja",
  ink: "tinta",
  instant_win: "premio instantáneo",
  insufficient: "insuficiente",
  invalid: "no válido",
  invalid_address: "dirección no válida",
  invalid_email: "correo no válido",
  invalid_phone: "teléfono no válido",
  line: "línea",
  loyaltyvip: "bandeja de las páginas del jugador",
  manual: "a mano",
  message: "mensaje",
  missing_identifier: "falta el identificador",
  mystery_box: "caja misteriosa",
  needs_review: "por revisar",
  needs_tax_form: "requiere formulario fiscal",
  never_asked: "nunca se preguntó",
  no_address: "sin dirección",
  no_answer: "sin respuesta",
  no_consent: "sin consentimiento",
  ok: "en orden",
  on_brand: "sobre la marca",
  opted_out: "pidió la baja",
  paper: "papel",
  paused: "en pausa",
  pending: "pendiente",
  picks_up: "contesta",
  presses_9: "pulsa 9",
  processing: "en proceso",
  push: "avisos del navegador",
  queued: "en cola",
  quiet_hours: "horario de silencio",
  random_split: "división al azar",
  rate_limit: "límite de ritmo",
  reassigned_number: "número reasignado",
  redeemed: "canjeado",
  refusal_stands: "la negativa sigue vigente",
  refused: "rechazado",
  revealed: "revelado",
  revoked: "revocado",
  ringing: "llamando",
  risky: "con riesgo",
  says_stop: "pide la baja",
  scheduled: "programado",
  scratch_card: "tarjeta para raspar",
  self_excluded: "autoexcluido",
  sending: "enviando",
  sent: "enviado",
  shared_address: "dirección compartida",
  silent: "calla",
  skipped: "omitido",
  sms: "mensaje de texto",
  soft: "suave",
  soft_bounce_limit: "demasiados rebotes temporales",
  spin_wheel: "ruleta",
  stale: "desactualizada",
  stop_keyword: "palabra de baja",
  suppressed: "suprimido",
  tier_upgrade: "subida de nivel",
  time_up: "tiempo agotado",
  time_window: "ventana de horario",
  trigger: "entrada",
  type_mismatch: "tipo incorrecto",
  underage: "menor de edad",
  undeliverable: "no se puede entregar",
  unknown: "desconocido",
  unknown_field: "campo desconocido",
  unsubscribed: "dado de baja",
  update_player: "actualizar al jugador",
  vip_hold: "retenido por su anfitrión",
  visit_thanks: "gracias por la visita",
  voice: "llamada de voz",
  voicemail: "buzón de voz",
  voicemail_left: "mensaje en el buzón de voz",
  voicemail_skipped: "buzón de voz sin mensaje",
  voided: "anulado",
  wait_until: "esperar hasta",
  waiting: "en espera",
  webhook: "webhook",
  welcome: "bienvenida",
  win_back: "recuperación",
  withdrawn: "retirada",
};
