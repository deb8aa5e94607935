/** The error's SQLSTATE, system code or library code; "" where the error has none. */
export function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}

/** Whether a statement failed with this SQLSTATE and, where one is named, by this constraint. */
export function isSqlState(error: unknown, code: string, constraint?: string): boolean {
  if (errorCode(error) !== code) return false;
  return constraint === undefined || constraintOf(error as Error) === constraint;
}

/** Citus passes on only a worker's message. In that message a shard's names end in the shard's number. */
function constraintOf(error: Error & { constraint_name?: string }): string | undefined {
  if (error.constraint_name) return error.constraint_name;
  return /constraint "([^"]+)"/.exec(error.message)?.[1]?.replace(/_\d{6,}$/, "");
}
