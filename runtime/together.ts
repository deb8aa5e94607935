import { isSqlState } from "#db/connection/error-code.ts";
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
 * The records whose statements were sent at once, and the refusal of the one behind them. Behind a failure PostgreSQL
 * refuses all statements of a transaction: the records behind it, and those before it that have a second one.
 */
export async function together<Row, Result>(
  statements: (Promise<Row> | Row)[],
  refusal: Fault | undefined,
  finish: (row: Row, index: number) => Promise<Result>,
): Promise<Together<Result>> {
  const settled = await Promise.allSettled(statements);
  const failed = settled.findIndex((one) => one.status === "rejected" && !isSqlState(one.reason, "25P02"));
  return {
    finish: async (index) => {
      const one = settled[index];
      if (!one) throw refusal;
      if (one.status === "fulfilled") return failed < 0 ? finish(one.value, index) : null;
      if (failed < 0 || index === failed) throw one.reason;
      return null;
    },
  };
}
