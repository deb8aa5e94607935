import type { Area } from "../change.ts";

export const masking: Area = {
  name: "masking",
  tests: [
    "tests/runtime/masking",
    "tests/transports/mcp/answers/masking.test.ts",
    "tests/contract/masking/columns.test.ts",
  ],
  changes: {
    "runtime/masking/guessing.ts": [
      ['"is_empty"]);', '"is_empty", "like"]);'],
      ['if (typeof order === "string" && hidden.test(order)) throw invalid("order", REFUSAL);', ""],
      ['if (key === "order" && hidden.test(value)) throw invalid(key, REFUSAL);', ""],
      ["if (isGroup) throw invalid(key, REFUSAL);", "if (isGroup) return;"],
      ['refuseRules(input, "", hidden);\n}', "}"],
      ["refuseFilter(key, String(value), hidden);", ";"],
    ],
    "runtime/funnel/masking.ts": [
      ["if (operation.file || operation.zipped)", "if (operation.zipped)"],
      ['if (operation.effect !== "read") refuseMaskedForms(input);', ""],
    ],
  },
};
