import { readableOf } from "#runtime/operation/columns.ts";
import players from "#tools/players/players.table.ts";

export const { columns } = readableOf(players);

/** The players' columns as the service lists them, for a select. */
export const COLUMNS = Object.entries(columns)
  .map(([name, { sql }]) => (sql ? `${sql} as "${name}"` : `"${name}"`))
  .join(", ");

export const databaseUrl = process.env.DATABASE_URL!;
export const property = process.env.PROPERTY!;
export const POOL = 4;
