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
      ["if (isGroup && hidden.test(value)) throw invalid(key, REFUSAL);", ""],
      ["of rulesIn(input)) {", "of []) {"],
      ["compareFilter(key, String(value));", ";"],
      ["if (compared > MOST_COMPARED) throw invalid(at, REFUSAL_OF_MANY);", ""],
      ["compared += values();", "compared = values();"],
      ["(isFew ? PRESENCE : WHOLE)", "WHOLE"],
    ],
    "runtime/funnel/masking.ts": [
      ["if (operation.file || operation.zipped)", "if (operation.zipped)"],
      ['if (operation.effect !== "read") refuseMaskedForms(input);', ""],
    ],
  },
};
