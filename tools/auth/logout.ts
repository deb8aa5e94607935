import { z } from "zod";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";

export default tool({
  name: "logout",
  title: "Sign out",
  description:
    "Ends the session of a token before its time: from then on the token is refused everywhere. The user's other sessions go on. A token that is not valid any more is answered the same way.",
  scope: "write",
  effect: "change",
  access: "public",
  realm: "system",
  at: { path: "/api/auth/logout" },
  input: { token: z.string().min(1).max(4_000).describe("From login") },
  output: z.object({ success: z.literal(true) }),
  faults: [],
  async handler({ sql, audit, sessionOf }, { token }) {
    const session = await sessionOf(token);
    if (!session) return { success: true as const };
    const ended = await sql`
      insert into ended_sessions (id, user_id, expires_at)
      values (${session.id}, ${session.userId}, to_timestamp(${session.expiresAt}::double precision))
      on conflict (id) do nothing returning id`;
    if (ended.length === 0) return { success: true as const };
    await directoryChanged(sql);
    audit({ entity: "users", entityId: session.userId });
    return { success: true as const };
  },
});
