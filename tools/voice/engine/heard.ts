import type { CallTurn } from "#runtime/channels/provider/call.ts";
import { type Keyword, keywordWords, readText, wordsOf } from "#tools/sms/keywords.ts";
import { STOP_KEY } from "./fixed-words.ts";

/** Whether a person's words ask for no more calls. */
export type IsStop = (text: string) => boolean;

const NINE = new Set(["9", "NINE", "NUEVE", "NEUF", "NEUN", "九"]);
/** Words beside the key's name, as people repeat them from the way to stop. */
const PRESS = new Set(
  `PRESS PRESSING THE PULSE PULSO OPRIMA OPRIMO MARQUE MARCO EL APPUYEZ APPUYER APPUIE JAPPUIE SUR LA LE TOUCHE DRUCKE DRUCKEN
  ICH DIE TASTE I 按 键 我`.split(/\s+/),
);

/**
 * Reads speech by the keywords of texts. Words that a person would have to review count as a stop here: a call cannot
 * wait for a review.
 */
export function stopReader(keywords: readonly Keyword[]): IsStop {
  return (text) => {
    const { action } = readText(text, keywords);
    if (action === "stop" || action === "review") return true;
    const words = wordsOf(text).filter((word) => !PRESS.has(word));
    return words.length === 1 && NINE.has(words[0]!);
  };
}

/** Whether unfinished words ask to stop the calls: `surely`, however they go on; `perhaps`, if they end here. */
export type ReadSoFar = (text: string) => "surely" | "perhaps" | "no";

/** Reads unfinished speech. Only whole sentences, and the property's own keywords, can give a stop another meaning. */
export function soFarReader(keywords: readonly Keyword[]): ReadSoFar {
  const isStop = stopReader(keywords);
  const open = keywords.filter(({ match }) => match !== "message");
  const others = keywords.filter(({ action }) => action !== "stop" && action !== "review");
  return (text) => {
    const { action, matched } = readText(text, open);
    const stops = action === "stop" || action === "review";
    const words = keywordWords(matched?.text ?? "");
    if (stops && !others.some((other) => contains(keywordWords(other.text), words))) return "surely";
    return stops || isStop(text) ? "perhaps" : "no";
  };
}

/** Whether the keys ask for no more calls. */
export function hasStopKey(keys: string): boolean {
  return keys.includes(STOP_KEY);
}

/** The turn that follows an answer; null when the turn expects no such answer. */
export function answeredTurn(
  { listen }: CallTurn,
  heard: { keys: string } | { text: string },
): string | null {
  if ("keys" in heard) {
    return listen.find(({ keys }) => [...heard.keys].some((key) => keys.includes(key)))?.next ?? null;
  }
  const words = wordsOf(heard.text);
  return (
    listen.find(({ phrases }) => phrases.some((phrase) => contains(words, wordsOf(phrase))))?.next ?? null
  );
}

function contains(words: readonly string[], phrase: readonly string[]): boolean {
  return (
    phrase.length > 0 &&
    words.some((_, start) => phrase.every((word, index) => words[start + index] === word))
  );
}

const WHO = [
  "WHO IS THIS",
  "WHO IS IT",
  "WHO IS CALLING",
  "WHOS THIS",
  "WHOS CALLING",
  "WHO ARE YOU",
  "WHO AM I SPEAKING",
  "WHO AM I TALKING",
  "WHAT COMPANY",
  "ARE YOU A ROBOT",
  "IS THIS A ROBOT",
  "IS THIS AN AI",
  "IS THIS A RECORDING",
  "REAL PERSON",
  "ARE YOU REAL",
  "ARE YOU HUMAN",
  "ARE YOU A HUMAN",
  "QUIEN ES",
  "QUIEN HABLA",
  "QUIEN LLAMA",
  "DE PARTE DE QUIEN",
  "CON QUIEN HABLO",
  "ES UN ROBOT",
  "ES UNA MAQUINA",
  "QUI EST CE",
  "CEST QUI",
  "DE LA PART DE QUI",
  "QUI EST A LAPPAREIL",
  "QUI APPELLE",
  "ETES VOUS UN ROBOT",
  "VOUS ETES UN ROBOT",
  "CEST UN ROBOT",
  "UN REPONDEUR",
  "WER IST DA",
  "WER IST DORT",
  "WER IST AM",
  "WER SIND SIE",
  "WER SPRICHT",
  "WER RUFT",
  "MIT WEM SPRECHE",
  "SIND SIE EIN ROBOTER",
  "IST DAS EIN ROBOTER",
  "你是谁",
  "你是誰",
  "哪位",
  "是机器人",
  "是機器人",
  "是真人",
  "谁啊",
  "誰啊",
].map(wordsOf);

/** Whether the person asks whose call this is. */
export function asksWho(text: string): boolean {
  const words = wordsOf(text);
  return WHO.some((question) => contains(words, question));
}

const GREETINGS = [
  "LEAVE A MESSAGE",
  "LEAVE YOUR MESSAGE",
  "LEAVE YOUR NAME",
  "LEAVE ME A MESSAGE",
  "RECORD YOUR MESSAGE",
  "PERSON YOU ARE TRYING TO REACH",
  "VOICE MESSAGING",
  "TAKE YOUR CALL",
  "AFTER THE TONE",
  "AFTER THE BEEP",
  "AT THE TONE",
  "VOICEMAIL",
  "VOICE MAIL",
  "MAILBOX",
  "DEJE SU MENSAJE",
  "DEJE UN MENSAJE",
  "DESPUES DE LA SENAL",
  "DESPUES DEL TONO",
  "NO ESTA DISPONIBLE",
  "BUZON DE VOZ",
  "LAISSEZ UN MESSAGE",
  "LAISSEZ MOI UN MESSAGE",
  "LAISSER UN MESSAGE",
  "SUR LE REPONDEUR",
  "SUR MON REPONDEUR",
  "SUR NOTRE REPONDEUR",
  "SIGNAL SONORE",
  "APRES LE BIP",
  "MESSAGERIE VOCALE",
  "HINTERLASSEN SIE",
  "NACH DEM TON",
  "NACH DEM SIGNAL",
  "NACH DEM SIGNALTON",
  "NACH DEM PIEPTON",
  "ANRUFBEANTWORTER",
  "请留言",
  "請留言",
  "语音信箱",
  "語音信箱",
  "提示音后",
  "提示音之后",
  "滴声后",
  "无法接听",
  "嘟声后",
].map(wordsOf);

/** Whether these are the words of an answering machine. */
export function isGreeting(text: string): boolean {
  const words = wordsOf(text);
  return GREETINGS.some((greeting) => contains(words, greeting));
}
