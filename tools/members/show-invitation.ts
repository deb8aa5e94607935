import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { invitationOf } from "./invitation.ts";
import { Role } from "./member.ts";

export default tool({
  name: "show_invitation",
  title: "Show an invitation",
  description: "Says to which property the link in the mail invites, and whether a password has to be set.",
  scope: "read",
  effect: "read",
  access: "public",
  realm: "system",
  at: { path: "/api/auth/invitation" },
  input: { token: z.string().min(1).max(200).describe("From the link in the email") },
  output: z.object({
    property_name: z.string(),
    email: z.email(),
    role: Role,
    needs_password: z.boolean().describe("There is no account with this email yet"),
  }),
  faults: ["invalid"],
  async handler({ sql }, { token }) {
    const { property_name, email, role, user_id } = await invitationOf(sql, token);
    return { property_name, email, role, needs_password: user_id === null };
  },
});
