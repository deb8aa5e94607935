import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { tool } from "#runtime/operation/operation.ts";
import { assertPassword, endSessions } from "#tools/users/user.ts";
import { tokenHash } from "./reset-token.ts";
import { countTry, forgive } from "./throttle.ts";

const WORDS = "this link is not valid any more; ask for a new one";

export default tool({
  name: "confirm_password_reset",
  title: "Set a new password",
  description:
    "Sets a new password with the token of a reset link, and ends all of the account's sessions. The token works once, within 30 minutes.",
  scope: "write",
  effect: "change",
  access: "public",
  realm: "system",
  at: { path: "/api/auth/password-reset/confirm" },
  input: {
    token: z.string().min(1).max(200).describe("From the link in the email"),
    password: z.string().max(1024).describe("12 to 256 characters"),
  },
  output: z.object({ success: z.literal(true) }),
  faults: ["invalid", "rate_limited"],
  async handler({ sql, call, audit }, { token, password }) {
    assertPassword(password);
    const hash = tokenHash(token);
    await countTry(sql, "password_reset_confirm", hash.toString("hex"), call.ip);
    if (!(await isOpen(sql, hash))) throw refusal();
    const passwordHash = await hashPassword(password);
    // Of two requests at once, the second one finds the row deleted.
    const [reset] = await sql<{ user_id: string }[]>`
      delete from password_resets where token_hash = ${hash} and expires_at > now() returning user_id`;
    if (!reset) throw refusal();
    await sql`
      update users set password_hash = ${passwordHash}, updated_at = now() where id = ${reset.user_id}`;
    await endSessions(sql, reset.user_id);
    await directoryChanged(sql);
    await forgive(sql, "password_reset_confirm", hash.toString("hex"), call.ip);
    audit({ entity: "users", entityId: reset.user_id });
    return { success: true as const };
  },
});

async function isOpen(sql: Sql, hash: Buffer): Promise<boolean> {
  const rows = await sql`
    select from password_resets r join users u on u.id = r.user_id and u.is_active
    where r.token_hash = ${hash} and r.expires_at > now()`;
  return rows.length > 0;
}

/** The fault is returned, so its writes are kept: a guessed token counts as a try. */
function refusal(): Fault {
  return new Fault("invalid", {
    message: `token: ${WORDS}`,
    details: [{ field: "token", message: WORDS }],
    commitWrites: true,
  });
}
