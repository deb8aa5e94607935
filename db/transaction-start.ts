import type { Sql } from "./sql.ts";

/**
 * The start of the transaction, to find the rows that it has written: they have it from `now()`. In a select over a
 * distributed table `now()` is another time, that of the rows' own node. So is a column's default where an
 * `insert … select` reads such a table.
 */
export async function transactionStart(sql: Sql): Promise<string> {
  const [row] = await sql<{ moment: string }[]>`select now()::text as moment`;
  return row!.moment;
}
