/**
 * The names that a misspelt word may mean, the nearest first: by letters put in, left out, replaced or exchanged with
 * a neighbor. None is farther than a third of the word's letters.
 */
export function nearest(word: string, names: Iterable<string>, most = 3): string[] {
  const farthest = Math.max(1, Math.floor(word.length / 3));
  return [...names]
    .filter((name) => Math.abs(name.length - word.length) <= farthest)
    .map((name) => ({ name, edits: edits(word, name) }))
    .filter((one) => one.edits <= farthest)
    .sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

/** How many edits make one text of the other (optimal string alignment). */
function edits(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isExchanged =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next[column] = Math.min(
        last[column]! + 1,
        next[column - 1]! + 1,
        last[column - 1]! + (isSame ? 0 : 1),
        isExchanged ? before[column - 2]! + 1 : Infinity,
      );
    }
    [before, last] = [last, next];
  }
  return last[other.length]!;
}
