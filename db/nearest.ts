/** Known words that are close to a misspelt one, the closest first: one wrong letter in four, in either case. */
export function nearest(word: string, known: Iterable<string>, most = 3): string[] {
  const wanted = folded(word);
  return [...known]
    .map((name) => ({ name, distance: distance(wanted, folded(name)) }))
    .filter(
      ({ name, distance }) => distance <= Math.max(1, Math.ceil(Math.max(wanted.length, name.length) / 4)),
    )
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

/** The end of a refusal: `; did you mean last_visit_at?`, or nothing where no word is close. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const near = nearest(word, known);
  return near.length > 0 ? `; did you mean ${near.join(" or ")}?` : "";
}

const LONGEST = 60;

function folded(word: string): string {
  return word.slice(0, LONGEST).toLowerCase().replaceAll("-", "_");
}

/** Letters to add, drop, change or swap with the next one. A word that the other begins with costs one. */
function distance(a: string, b: string): number {
  if (a === b) return 0;
  if (a.length >= 4 && b.startsWith(a)) return 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1);
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
