import type { Work, Write } from "#db/database.ts";
import type { Fragment, Sql } from "#db/sql.ts";
import { Killed } from "../job-runner.ts";

const AWAITED = "then";

const lost = (_: Sql, number: number): Promise<never> => Promise.reject(new Killed(`statement ${number}`));

/** Fails in the server, which then commits nothing. It is sent at once, as the statement itself would be. */
export function refused(sql: Sql): Promise<never> {
  return sql`select 1 / 0`.then(() => {
    throw new Error("the server has refused nothing");
  });
}

/** The statements of a transaction, numbered; those behind this number fail. */
export function dying(sql: Sql, last: number, fail: typeof lost = lost): Sql {
  let number = 0;
  const counted = (texts: TemplateStringsArray, ...values: unknown[]) => {
    const statement = sql(texts, ...values);
    const run = statement.then.bind(statement);
    // A statement runs when it is awaited; as a piece of another one it does not.
    return Object.defineProperty(statement, AWAITED, {
      value: (...args: Parameters<typeof run>) => {
        number += 1;
        return number > last ? fail(sql, number).then(...args) : run(...args);
      },
    });
  };
  return Object.assign(counted, sql) as unknown as Sql;
}

/** Statements that are left to the commit as they are. */
export const asTheyAre: Write<Fragment> = (statements) => statements;

/** The work, which runs its last statements itself, by the tag that it gets. */
export function withLastRows<T>(work: Work<T>): Work<T> {
  return async (sql) => {
    const left: (() => ReturnType<Write<unknown>>)[] = [];
    const result = await work(sql, (write, row) => void left.push(() => write([row], sql)));
    for (const write of left) {
      for (const statement of await write()) await sql`${statement}`;
    }
    return result;
  };
}
