/** A column of a table, in columns of the terminal. */
export interface Measured {
  name: string;
  /** The width of its longest cell. */
  wanted: number;
  /** Its cells are never cut: ids, times and messages. */
  isWhole: boolean;
  /** Which columns stay where there is no room for all: the lowest ones. */
  rank: number;
}

/** To this much a cell may be cut where all columns must stay, and where some may go. */
const LEAST = 12;
const READABLE = 24;

/** The columns that fit into the width with cells that can be read, in their order. Those of rank 0 always stay. */
export function columnsThatFit(columns: Measured[], width: number | undefined, gap: number): Measured[] {
  if (width === undefined) return columns;
  let room = width + gap;
  const fitting = new Set<Measured>();
  for (const column of columns.toSorted((a, b) => a.rank - b.rank)) {
    const least = leastOf(column, READABLE) + gap;
    if (least > room && column.rank > 0) continue;
    room -= least;
    fitting.add(column);
  }
  return columns.filter((column) => fitting.has(column));
}

/** The widths after cutting the widest columns until the line fits; null if it cannot fit. */
export function fittedWidths(columns: Measured[], width: number | undefined, gap: number): number[] | null {
  const widths = columns.map(({ wanted }) => wanted);
  if (width === undefined) return widths;
  const room = width - gap * (columns.length - 1);
  const least = columns.map((column) => leastOf(column, LEAST));
  if (sum(least) > room) return null;
  for (let over = sum(widths) - room; over > 0; over--) {
    const spare = widths.map((one, index) => (one > least[index]! ? one : 0));
    widths[spare.indexOf(Math.max(...spare))]!--;
  }
  return widths;
}

function leastOf({ name, wanted, isWhole }: Measured, most: number): number {
  return isWhole ? wanted : Math.max(name.length, Math.min(wanted, most));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
