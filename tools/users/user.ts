import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { checkPassword } from "#runtime/identity/passwords.ts";
import { timestamp } from "#runtime/operation/columns.ts";

export const UserRecord = z.object({
  id: z.uuid(),
  email: z.email(),
  name: z.string().nullable(),
  is_platform_admin: z.boolean(),
  is_active: z.boolean(),
  created_at: timestamp(),
  updated_at: timestamp(),
});

export type UserRecord = z.output<typeof UserRecord>;

export function userColumns(sql: Sql) {
  return sql`id, email, name, is_platform_admin, is_active, created_at, updated_at`;
}

export function assertPassword(password: string): void {
  const reason = checkPassword(password);
  if (reason) throw invalid("password", reason);
}

export function noUser(id: string): Fault {
  return new Fault("not_found", { message: `No user with the id ${id}. See list_users.` });
}

/**
 * Ends a user's sessions after a change of password: tokens from before the end of this second and open reset links are
 * void. The caller has locked the user.
 */
export async function endSessions(sql: Sql, userId: string): Promise<void> {
  await sql`
    update users set sessions_from = date_trunc('second', statement_timestamp()) + interval '1 second' where id = ${userId}`;
  await sql`delete from password_resets where user_id = ${userId}`;
}
