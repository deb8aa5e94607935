import { z } from "zod";
import { enqueue } from "#runtime/jobs/queue.ts";
import { tool } from "#runtime/operation/operation.ts";
import sendPasswordReset from "./send-password-reset.job.ts";
import { countTry } from "./throttle.ts";

export default tool({
  name: "request_password_reset",
  title: "Ask for a password reset",
  description:
    "Emails a link for setting a new password, valid once within 30 minutes. The answer is the same for unknown accounts.",
  scope: "write",
  effect: "change",
  access: "public",
  realm: "system",
  at: { path: "/api/auth/password-reset" },
  input: { email: z.email().max(320).describe("Of the account") },
  output: z.object({ success: z.literal(true), message: z.string() }),
  faults: ["rate_limited"],
  // Only the job looks the account up, so neither the answer nor its time shows whether the account exists.
  async handler({ sql, call, audit }, { email }) {
    const account = email.toLowerCase();
    await countTry(sql, "password_reset", account, call.ip);
    // Not `context.enqueue`: that writes the job beside a tenant's events.
    await enqueue(sql, sendPasswordReset, { email: account }, { dedupe: account });
    audit({ entity: "users", entityId: null });
    return {
      success: true as const,
      message: "If there is an account with this email, a link to set a new password is on its way.",
    };
  },
});
