import { setTimeout as pause } from "node:timers/promises";

/** Milliseconds between two questions that count rows: asked without a pause, they would take a processor. */
export const COUNTING = 50;

/** Each must be 0 after every fault. */
export interface Ledger {
  /** Intended effects that are missing. */
  lost: number;
  /** Effects that are there twice. */
  doubled: number;
  /** Rows or bytes of another property. */
  foreign: number;
}

export interface Outcome {
  ledger: Ledger;
  /** Every other expectation that was not met, in words. */
  problems: string[];
  /** The events, with their numbers. */
  about: string;
}

export type Report = (name: string, outcome: Outcome) => void;

export interface Extent {
  rounds: number;
  /** The sizes of the promise, and not those of a quick look. */
  long: boolean;
}

export type Fault = (report: Report, extent: Extent) => Promise<void>;

/** The milliseconds that a condition took to come true, asked every so many. Throws when it took too long. */
export async function until(
  what: string,
  within: number,
  condition: () => Promise<boolean> | boolean,
  every = 5,
): Promise<number> {
  const startedAt = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedAt > within) throw new Error(`${what}: not within ${within} ms`);
    await pause(every);
  }
  return performance.now() - startedAt;
}

/** The problems whose condition holds. */
export function problemsOf(candidates: Record<string, boolean>): string[] {
  return Object.entries(candidates).flatMap(([problem, holds]) => (holds ? [problem] : []));
}

/** How many values there are beyond the first of each. */
export function repeats(values: readonly string[]): number {
  return values.length - new Set(values).size;
}

/** The two halves of a list, the second from its end on: who may be on the way is in the first, who is spared in the second. */
export function fromBothEnds<T>(values: readonly T[]): [T[], T[]] {
  const half = Math.ceil(values.length / 2);
  return [values.slice(0, half), values.slice(half).reverse()];
}

/** Nearest rank. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
}

export const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
