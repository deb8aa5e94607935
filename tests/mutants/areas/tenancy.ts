import type { Area } from "../change.ts";

export const tenancy: Area = {
  name: "tenancy",
  tests: [
    "tests/contract/tenancy",
    "tests/contract/permissions.test.ts",
    "tests/db/database.test.ts",
    "tests/runtime/identity",
    "tests/contract/specification",
    "tests/tools/members/members.test.ts",
    "tests/contract/http/credentials.test.ts",
    "tests/runtime/sent-back.test.ts",
  ],
  first: { "runtime/funnel/access.ts": "tests/contract/permissions.test.ts" },
  changes: {
    "db/query/reader.ts": [
      [
        'where "property_id" = ${property}${andVisible(readable)}',
        "where ${property}::uuid is not null${andVisible(readable)}",
      ],
    ],
    "runtime/roles.ts": [
      ['ACTING_ROLES = ["admin", "manager"]', 'ACTING_ROLES = ["admin", "manager", "analyst"]'],
      ["find((one) => one.property_id === propertyId)", "find(() => true)"],
      ['if (isPlatformAdmin) return "admin";', ""],
    ],
    "runtime/funnel/access.ts": [
      ['if (actor.type === "anonymous") throw new Fault("missing_credential");', ""],
      [
        "if (!actor.scopes.includes(operation.scope)) throw scopeFault(operation);\n    if (operation.access",
        "if (operation.access",
      ],
      ['if (operation.access !== "property") throw roleFault(operation.access);', ""],
      ['if (access === "operator") throw roleFault(access);', ""],
      ["if (!actor.isPlatformAdmin) checkRoles(", "if (false) checkRoles("],
      ["actor.propertyId === propertyId ? actor.scopes : []", "actor.scopes"],
      ['return acts(role) ? ["read", "write"] : ["read"];', 'return ["read", "write"];'],
      ["if (role === null) return [];", ""],
      ['if (ids.size > 1) throw new Fault("wrong_property");', ""],
      ["scopesIn(call.actor, id).length === 0)\n    throw", "false)\n    throw"],
      ["if (!scopesIn(call.actor, id).includes(operation.scope)) throw", "if (false) throw"],
      ['if (call.actor.type === "user") requireRole', "if (false) requireRole"],
      ["if (role === null || !roles.includes(role)) throw", "if (role === null) throw"],
      ['  admin: ["admin"],', '  admin: ["admin", "manager"],'],
      ["if (list.length === 1) return list[0]!;", "if (list.length > 0) return list[0]!;"],
    ],
  },
};
