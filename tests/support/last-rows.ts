import type { Work, Write } from "#db/database.ts";
import type { Fragment } from "#db/sql.ts";

/** Statements that are left to the commit as they are. */
export const asTheyAre: Write<Fragment> = (statements) => statements;

/** The work, which runs its last statements itself, by the tag that it gets. */
export function withLastRows<T>(work: Work<T>): Work<T> {
  return async (sql) => {
    const left: (() => Fragment[])[] = [];
    const result = await work(sql, (write, row) => void left.push(() => write([row])));
    for (const statement of left.flatMap((write) => write())) await sql`${statement}`;
    return result;
  };
}
