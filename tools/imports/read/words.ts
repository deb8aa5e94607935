/**
 * Words of yes and no in the languages of Europe. Both lists leave out a word that means yes in one language and no in
 * another.
 */
const YES = new Set(
  "yes true 1 y on ja j wahr oui vrai sí si verdadero sim verdadeiro vero tak ano áno igen kyllä da evet ναι да".split(
    " ",
  ),
);
const NO = new Set(
  "no false 0 n off nein falsch non faux falso não nao nee nej nei nie nem ei nu hayır όχι нет".split(" "),
);

/** Whether a word means yes; null when it is neither. */
export function readWord(text: string): boolean | null {
  const word = text.toLowerCase();
  if (YES.has(word)) return true;
  return NO.has(word) ? false : null;
}
