import { Fault } from "./faults.ts";

/** The results of records in turn, until one is refused: that is the record behind the last result. */
export interface UntilRefused<Result> {
  done: Result[];
  refusal?: Fault | undefined;
}

/** The records of one request, written. */
export interface Together<Result = unknown> {
  /**
   * The result of a record. Called for each in turn; throws the record's refusal. Null: the record stays unchanged, or a
   * statement behind it has failed.
   */
  finish(index: number): Promise<Result | null>;
}

/** Works on records in turn, until one is refused. Other errors are thrown. */
export async function untilRefused<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result> | Result,
): Promise<UntilRefused<Result>> {
  const done: Result[] = [];
  for (const [index, item] of items.entries()) {
    try {
      done.push(await work(item, index));
    } catch (error) {
      if (error instanceof Fault) return { done, refusal: error };
      throw error;
    }
  }
  return { done };
}

/**
 * The records whose statements were sent at once, and the refusal of the one behind them. The first failure is the cause
 * of those that follow it.
 */
export async function together<Row, Result>(
  statements: (Promise<Row> | Row)[],
  refusal: Fault | undefined,
  finish: (row: Row, index: number) => Promise<Result>,
): Promise<Together<Result>> {
  const settled = await Promise.allSettled(statements);
  const failed = settled.findIndex(({ status }) => status === "rejected");
  return {
    finish: async (index) => {
      const one = settled[index];
      if (!one) throw refusal;
      if (one.status === "rejected") throw one.reason;
      return failed < 0 ? finish(one.value, index) : null;
    },
  };
}
