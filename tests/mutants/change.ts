/** A text that stands once in a file, and its replacement: a fault that some test must notice. */
export type Change = readonly [from: string, to: string];

/** The changes of one promise, and the tests that must notice them. */
export interface Area {
  name: string;
  /** Files of tests, or folders of them. */
  tests: readonly string[];
  /** By file of the code: the test that is likeliest to notice its changes. It runs first. */
  first?: Readonly<Record<string, string>>;
  /** By file. */
  changes: Readonly<Record<string, readonly Change[]>>;
  /** Changes that no test can notice, by their replacement: each with the reason. */
  unnoticeable?: Readonly<Record<string, string>>;
}

/** One change in its place. */
export interface Mutant {
  file: string;
  from: string;
  to: string;
  /** Set where no test can notice it. */
  reason: string | undefined;
}

/** The changes of an area, one after another. */
export function mutantsOf({ changes, unnoticeable = {} }: Area): Mutant[] {
  return Object.entries(changes).flatMap(([file, pairs]) =>
    pairs.map(([from, to]) => ({ file, from, to, reason: unnoticeable[to] })),
  );
}
