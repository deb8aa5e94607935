import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { hashPassword, needsRehash, verifyPassword } from "#runtime/identity/passwords.ts";
import { SESSION_SECONDS } from "#runtime/identity/signing-keys.ts";
import { tool } from "#runtime/operation/operation.ts";
import { countTry, forgive } from "./throttle.ts";

export const UserView = z.object({ id: z.uuid(), email: z.email(), role: z.string() });

export default tool({
  name: "login",
  title: "Sign in",
  description:
    "Signs in with an email and a password, and returns a token. Send it as Authorization: Bearer.",
  scope: "read",
  effect: "change",
  access: "public",
  realm: "system",
  at: { path: "/api/auth/login" },
  input: {
    email: z.email().max(320).describe("Of the account"),
    password: z.string().min(1).max(1024).describe("Of the account"),
  },
  output: z.object({ token: z.string(), user: UserView, expires_in: z.int().describe("Seconds") }),
  faults: ["invalid_credential", "rate_limited"],
  secrets: ["token"],
  async handler({ sql, call, audit, issueToken }, { email, password }) {
    const account = email.toLowerCase();
    await countTry(sql, "login", account, call.ip);
    // Locked: a change of password waits for this login, and then ends its session.
    const [user] = await sql<{ id: string; password_hash: string; sessions_from: number }[]>`
      select id, password_hash, coalesce(extract(epoch from sessions_from), 0)::double precision as sessions_from
      from users where email = ${account} and is_active
      for share`;
    const right = await verifyPassword(password, user?.password_hash ?? null);
    if (!user || !right) throw wrongLogin();
    await forgive(sql, "login", account, call.ip);
    if (needsRehash(user.password_hash)) {
      await sql`update users set password_hash = ${await hashPassword(password)} where id = ${user.id}`;
    }
    audit({ entity: "users", entityId: user.id });
    return {
      token: await issueToken(user.id, user.sessions_from),
      user: { id: user.id, email: account, role: "authenticated" },
      expires_in: SESSION_SECONDS,
    };
  },
});

/** An unknown account gets the same message. */
function wrongLogin(): Fault {
  return new Fault("invalid_credential", {
    details: [{ field: "password", message: "The email or the password is wrong." }],
    commitWrites: true,
  });
}
