/** A person who speaks over the opening again and again gets it so often once more. */
const MOST_REPEATS = 2;

/** Knows whether the person has heard who calls and how to stop it, where a carrier lets speech cut our words short. */
export interface Opening {
  /** The sentences of the last step that are said by law. */
  says(sentences: readonly string[]): void;
  /** Whether it must be said once more, after the voice fell silent behind these words. */
  mustRepeat(spokenUntil: string): boolean;
}

export function openingOfCall(): Opening {
  let sentences: readonly string[] = [];
  let repeats = 0;
  return {
    says(next) {
      sentences = next;
    },
    mustRepeat(spokenUntil) {
      const last = sentences.at(-1);
      const spoken = plain(spokenUntil);
      // Other words of ours come behind the opening.
      if (last === undefined || spoken.endsWith(plain(last)) || !plain(sentences.join("")).includes(spoken))
        return false;
      repeats += 1;
      return repeats <= MOST_REPEATS;
    },
  };
}

/** A text without the marks that a carrier may leave out. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}
