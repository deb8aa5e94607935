import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { ROLES } from "#runtime/roles.ts";
import { UserView } from "./login.ts";

export default tool({
  name: "me",
  title: "Who am I",
  description: "Returns the signed-in user with their properties and roles.",
  scope: "read",
  effect: "read",
  access: "user",
  realm: "system",
  at: { path: "/api/auth/me", methods: ["POST", "GET"] },
  input: {},
  output: UserView.extend({
    is_platform_admin: z.boolean(),
    memberships: z.array(z.object({ property_id: z.uuid(), role: z.enum(ROLES) })),
  }),
  faults: [],
  async handler({ call: { actor } }) {
    if (actor.type !== "user") {
      const message =
        "This tells of a signed-in user: on the command line, give --url, and their token as --key.";
      throw new Fault("forbidden", { message });
    }
    return {
      id: actor.id,
      email: actor.email,
      role: "authenticated",
      is_platform_admin: actor.isPlatformAdmin,
      memberships: [...actor.memberships],
    };
  },
});
