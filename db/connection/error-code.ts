/** What was thrown is known by: PostgreSQL's SQLSTATE, or the system's or a library's own code. Without one: "". */
export function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}

/** Whether a statement has failed with a SQLSTATE, and by the constraint that is named. */
export function isSqlState(error: unknown, code: string, constraint?: string): boolean {
  if (errorCode(error) !== code) return false;
  return constraint === undefined || constraintOf(error as Error) === constraint;
}

/** Citus passes a worker's error on by its message alone, in which a shard's names end in the shard's number. */
function constraintOf(error: Error & { constraint_name?: string }): string | undefined {
  if (error.constraint_name) return error.constraint_name;
  return /constraint "([^"]+)"/.exec(error.message)?.[1]?.replace(/_\d{6,}$/, "");
}
