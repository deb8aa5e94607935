import type { CallLanguage, CallScript } from "#runtime/channels/provider/call.ts";

/** The key by which a person stops all calls. No script may use it. */
export const STOP_KEY = "9";

interface Fixed {
  identification(entity: string, ai: boolean): string;
  opt_out: string;
  closing(number: string): string;
  voicemail_opt_out(number: string): string;
}

/** The sentences that the law wants. They are no template, and nobody's data but the property's own enters them. */
const WORDS: Record<CallLanguage, Fixed> = {
  en: {
    identification: (entity, ai) =>
      `Hello. This is an automated call from ${entity}${ai ? ", by an AI voice" : ""}.`,
    opt_out: "To stop these calls, press 9 or say stop at any time.",
    closing: (number) => `You can call us at ${number}. Goodbye.`,
    voicemail_opt_out: (number) => `To stop these calls, call us toll-free at ${number}. Goodbye.`,
  },
  es: {
    identification: (entity, ai) =>
      `Hola. Esta es una llamada automática de ${entity}${ai ? ", con una voz generada por inteligencia artificial" : ""}.`,
    opt_out: "Para no recibir más llamadas, oprima el 9 o diga alto en cualquier momento.",
    closing: (number) => `Puede llamarnos al ${number}. Adiós.`,
    voicemail_opt_out: (number) => `Para no recibir más llamadas, llámenos sin costo al ${number}. Adiós.`,
  },
  fr: {
    identification: (entity, ai) =>
      `Bonjour. Ceci est un appel automatique de la part de ${entity}${ai ? ", avec une voix générée par intelligence artificielle" : ""}.`,
    opt_out:
      "Pour ne plus recevoir ces appels, vous pouvez à tout moment appuyer sur la touche 9 ou dire arrêt.",
    closing: (number) => `Vous pouvez nous appeler au ${number}. Au revoir.`,
    voicemail_opt_out: (number) =>
      `Pour ne plus recevoir ces appels, appelez-nous gratuitement au ${number}. Au revoir.`,
  },
  de: {
    identification: (entity, ai) =>
      `Guten Tag. Dies ist ein automatischer Anruf von ${entity}${ai ? ", gesprochen von einer künstlichen Intelligenz" : ""}.`,
    opt_out: "Wenn Sie keine weiteren Anrufe wünschen, drücken Sie jederzeit die 9 oder sagen Sie Stopp.",
    closing: (number) => `Sie erreichen uns unter ${number}. Auf Wiederhören.`,
    voicemail_opt_out: (number) =>
      `Wenn Sie keine weiteren Anrufe wünschen, rufen Sie uns gebührenfrei unter ${number} an. Auf Wiederhören.`,
  },
  zh: {
    identification: (entity, ai) => `您好。这是${entity}的自动语音电话${ai ? "，由人工智能语音播报" : ""}。`,
    opt_out: "如果您不想再接到此类电话，请随时按 9 键，或者说“停止”。",
    closing: (number) => `您可以拨打 ${number} 联系我们。再见。`,
    voicemail_opt_out: (number) => `如果您不想再接到此类电话，请拨打免费电话 ${number} 告诉我们。再见。`,
  },
};

export const FIXED_PARTS = ["identification", "opt_out", "closing", "voicemail_opt_out"] as const;
export type FixedPart = (typeof FIXED_PARTS)[number];

/** A fixed sentence of this call. */
export function fixedSentence(
  call: Pick<CallScript, "language" | "entity" | "number" | "ai_disclosure">,
  part: FixedPart,
): string {
  const words = WORDS[call.language];
  if (part === "identification") return words.identification(call.entity, call.ai_disclosure);
  if (part === "opt_out") return words.opt_out;
  return words[part](call.number);
}
