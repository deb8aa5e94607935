import type { CallScript } from "#runtime/channels/provider/call.ts";
import { type FixedPart, fixedSentence } from "./fixed-words.ts";

/** One sentence of ours: a fixed one, or a turn of the script. */
export interface Said {
  text: string;
  fixed: FixedPart | null;
  turn: string | null;
}

/** A sentence that the law wants. */
export function fixed(call: CallScript, part: FixedPart): Said {
  return { text: fixedSentence(call, part), fixed: part, turn: null };
}

/**
 * The words to say once more after our voice fell silent behind `spoken`: from the sentence that was cut short to the
 * last one, if a sentence of the law is among them. The caller's name and the way to stop belong together, and a
 * message for a machine is left as a whole. `spoken` counts from the first sentence or from any other one; in doubt the
 * person has heard less.
 */
export function leftUnheard(words: readonly Said[], spoken: string): readonly Said[] {
  const cut = cutSentence(
    words.map(({ text }) => plain(text)),
    plain(spoken),
  );
  if (!words.slice(cut).some((one) => one.fixed !== null)) return [];
  if (words.at(-1)?.fixed === "voicemail_opt_out") return words;
  return words.slice(words[cut]?.fixed === "opt_out" ? Math.max(0, cut - 1) : cut);
}

/** The place of the first sentence that was not heard to its end. */
function cutSentence(sentences: readonly string[], spoken: string): number {
  const start = sentences.join("").indexOf(spoken);
  const heard = start < 0 ? 0 : start + spoken.length;
  let end = 0;
  const cut = sentences.findIndex((sentence) => {
    end += sentence.length;
    return end > heard;
  });
  return cut < 0 ? sentences.length : cut;
}

/** A text without the marks that a carrier may leave out. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}
