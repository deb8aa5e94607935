import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { tool } from "#runtime/operation/operation.ts";
import { assertPassword, UserRecord, userColumns } from "./user.ts";

export default tool({
  name: "create_user",
  title: "Create a user",
  description: "Creates a user who can sign in. grant_membership gives them access to properties.",
  scope: "write",
  effect: "create",
  access: "operator",
  asks: true,
  realm: "system",
  sealed: ["password"],
  input: {
    email: z.email().max(320).describe("The user signs in by it"),
    password: z.string().describe("12 to 256 characters"),
    name: z.string().trim().min(1).max(200).optional().describe("Of the user"),
    is_platform_admin: z.boolean().default(false).describe("May do everything in every property"),
  },
  output: UserRecord,
  status: 201,
  faults: ["invalid", "conflict"],
  async handler({ sql, audit, ask }, input) {
    assertPassword(input.password);
    const email = input.email.toLowerCase();
    const [user] = await sql<UserRecord[]>`
      insert into users (email, name, password_hash, is_platform_admin)
      values (${email}, ${input.name ?? null}, ${await hashPassword(input.password)}, ${input.is_platform_admin})
      on conflict (email) do nothing returning ${userColumns(sql)}`;
    if (!user)
      throw new Fault("conflict", {
        message: `A user with the email ${email} already exists. See list_users.`,
      });
    const rights = user.is_platform_admin ? " and may do everything in every property" : "";
    ask?.({
      sentences: () => [`${email} can sign in from now on, with the password of this call${rights}.`],
    });
    audit({ entity: "users", entityId: user.id });
    await directoryChanged(sql);
    return user;
  },
});
