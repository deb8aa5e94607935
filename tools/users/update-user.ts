import { z } from "zod";
import { assignments } from "#db/sql.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { tool } from "#runtime/operation/operation.ts";
import { assertPassword, endSessions, noUser, UserRecord, userColumns } from "./user.ts";

export default tool({
  name: "update_user",
  title: "Change a user",
  description:
    "Changes a user's name, password or rights, or ends their access with is_active false. A new password ends their sessions.",
  scope: "write",
  effect: "change",
  access: "operator",
  asks: true,
  realm: "system",
  sealed: ["password"],
  input: {
    user_id: z.uuid().describe("From list_users"),
    name: z.string().trim().min(1).max(200).nullable().optional().describe("Of the user"),
    password: z.string().optional().describe("12 to 256 characters"),
    is_platform_admin: z.boolean().optional().describe("May do everything in every property"),
    is_active: z.boolean().optional().describe("false: cannot sign in"),
  },
  output: UserRecord,
  faults: ["invalid", "not_found"],
  async handler({ sql, audit, ask }, { user_id, password, ...input }) {
    if (password !== undefined) assertPassword(password);
    const changes = {
      ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)),
      ...(password !== undefined && { password_hash: await hashPassword(password) }),
      updated_at: "now",
    };
    const [user] = await sql<UserRecord[]>`
      update users set ${assignments(changes)} where id = ${user_id} returning ${userColumns(sql)}`;
    if (!user) throw noUser(user_id);
    const words = changeWords({ ...input, password });
    if (words.length > 0) ask?.({ sentences: () => words.map((word) => `${user.email} ${word}.`) });
    if (password !== undefined) await endSessions(sql, user_id);
    await directoryChanged(sql);
    audit({ entity: "users", entityId: user_id });
    return user;
  },
});

interface Rights {
  password?: string | undefined;
  is_platform_admin?: boolean | undefined;
  is_active?: boolean | undefined;
}

/** A user decides in place of agents: another password gives the account to each person who knows it. */
function changeWords({ password, is_platform_admin, is_active }: Rights): string[] {
  return [
    ...(password === undefined
      ? []
      : ["gets another password, with which anybody can act as this person, and is signed out"]),
    ...(is_platform_admin ? ["may do everything in every property from now on"] : []),
    ...(is_platform_admin === false ? ["is no platform admin any more"] : []),
    ...(is_active ? ["can sign in"] : []),
    ...(is_active === false ? ["cannot sign in any more"] : []),
  ];
}
