/** One line of a benchmark: ours against a peer or a limit, measured in the same run. */
export interface Figure {
  name: string;
  ours: number;
  peer: number;
  ratio: number;
  goal: string;
  met: boolean;
  /** The spread of the rounds, and the reason why the figure is void. */
  note?: string;
}

export type Report = (figure: Figure) => void;

/** The middle of the values. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
