/** The languages that the fixed sentences of a call are written in. */
export const CALL_LANGUAGES = ["en", "es", "fr"] as const;
export type CallLanguage = (typeof CALL_LANGUAGES)[number];

/** One answer of the person, and the turn that follows it. */
interface CallAnswer {
  /** Any of these keys. */
  keys: string;
  phrases: readonly string[];
  next: string;
}

/** One turn of a call: the words, and where the call goes from there. Null: the engine's own way. */
export interface CallTurn {
  id: string;
  say: string;
  /** Empty: the turn does not listen. */
  listen: readonly CallAnswer[];
  next: string | null;
  on_silence: string | null;
  on_other: string | null;
}

/** The words of one call, rendered for its recipient. */
export interface CallScript {
  language: CallLanguage;
  /** The company in whose name the call is made. */
  entity: string;
  /** As it is spoken. */
  number: string;
  ai_disclosure: boolean;
  turns: readonly CallTurn[];
  /** Null: no message is left. */
  voicemail: string | null;
}
