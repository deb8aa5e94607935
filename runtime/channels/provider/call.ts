/** The languages that the fixed sentences of a call are written in. */
export const CALL_LANGUAGES = ["en", "es", "fr", "de", "zh"] as const;
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

/** A phone call by an automated voice. */
export interface VoiceMessage {
  /** The send's id (a uuid). */
  id: string;
  /** E.164. */
  to: string;
  /** The calling number; the provider's own when left out. */
  from?: string;
  /** The whole call, as people read it. */
  text: string;
  /** The rendered turns. Without turns an agent of the vendor follows `prompt` alone. */
  script: CallScript;
  /** The fixed sentences that an agent says before anything else. */
  opening: string;
  /** The instructions for an agent of the vendor. */
  prompt: string;
  /** The whole message for an answering machine; null: none is left. */
  voicemail: string | null;
  /** About the seconds of a whole call. */
  seconds: number;
  /** How long an unanswered call rings. */
  ringSeconds: number;
  /** The longest time that the call may take. */
  mostSeconds: number;
  /** ISO time by which the call must be over; null where no hours close. */
  latest: string | null;
}

/** How a vendor ends calls, in seconds. */
export interface CallTimes {
  /** The shortest limit of a call that the vendor keeps. */
  shortest: number;
  /** The longest time that an unanswered call rings, where the vendor takes no such time from us. */
  rings?: number;
}

/** One thing that was said in a call, as a vendor reports it. */
export interface CallLine {
  by: "us" | "them";
  text: string;
  /** Pressed keys. */
  keys?: string | undefined;
}

/** A vendor's news of a call. `lines`: the whole call, told at its end. */
export interface CallNews {
  kind: "call";
  state: "ringing" | "answered" | "ended";
  result?: "completed" | "busy" | "no_answer" | "failed" | undefined;
  answeredBy?: "human" | "machine" | undefined;
  /** From the answer to the end. */
  seconds?: number | undefined;
  cost?: number | undefined;
  /** ISO 4217. */
  currency?: string | undefined;
  lines?: CallLine[] | undefined;
}

/** A carrier's request to open the WebSocket of a call. */
export interface RelayHandshake {
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  sendId: string;
  token: string;
  /** The arrival, in milliseconds since 1970 by the database's clock. */
  at: number;
}
