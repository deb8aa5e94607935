import type { Area } from "../change.ts";

export const tenancy: Area = {
  name: "tenancy",
  tests: [
    "tests/contract/tenancy",
    "tests/db/database.test.ts",
    "tests/runtime/identity",
    "tests/contract/specification",
  ],
  unnoticeable: {
    'role !== "admin" && role !== "manager" && role !== "analyst"':
      "Analysts alone have a lower role. They may only read, and every operation of managers writes: the scope refuses first.",
    false: "The same: the scope refuses whoever has no role of a manager.",
  },
  changes: {
    "db/query/reader.ts": [
      [
        'where "property_id" = ${property}${andVisible(readable)}',
        "where ${property}::uuid is not null${andVisible(readable)}",
      ],
    ],
    "runtime/funnel/access.ts": [
      ['if (actor.type === "anonymous") throw new Fault("missing_credential");', ""],
      [
        'if (!actor.scopes.includes(operation.scope)) throw new Fault("insufficient_scope");\n    if (operation.access',
        "if (operation.access",
      ],
      ['if (operation.access !== "property") throw roleFault(operation.access);', ""],
      [
        'operation.access === "operator" && !actor.isPlatformAdmin',
        'operation.access === "operator" && false',
      ],
      ["actor.propertyId === propertyId ? actor.scopes : []", "actor.scopes"],
      ['return role === "analyst" ? ["read"] : ["read", "write"];', 'return ["read", "write"];'],
      ["if (!role) return [];", ""],
      ['if (ids.size > 1) throw new Fault("wrong_property");', ""],
      ["scopesIn(call.actor, id).length === 0)\n    throw", "false)\n    throw"],
      ["if (!scopesIn(call.actor, id).includes(operation.scope)) throw", "if (false) throw"],
      ['NEEDS_ROLE.has(operation.access) && call.actor.type === "user"', "false"],
      [
        'role !== "admin" && role !== "manager"',
        'role !== "admin" && role !== "manager" && role !== "analyst"',
      ],
      ["if (list.length === 1) return list[0]!;", "if (list.length > 0) return list[0]!;"],
    ],
  },
};
