/** What was thrown is known by: PostgreSQL's SQLSTATE, or the system's or a library's own code. Without one: "". */
export function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}

/** Whether a statement has failed with a SQLSTATE, and over the table, column or constraint that is named. */
export function isSqlState(
  error: unknown,
  code: string,
  over: { table_name?: string; column_name?: string; constraint_name?: string } = {},
): boolean {
  if (errorCode(error) !== code) return false;
  return Object.entries(over).every(([name, value]) => (error as Record<string, unknown>)[name] === value);
}
