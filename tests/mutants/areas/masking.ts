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
      ["of rulesIn(input, [schema])) {", "of []) {"],
      ["compareFilter(key, String(value));", ";"],
      ["if (!OPTIONS.has(key)) compareFilter(key, value);", ""],
      ["(isFew ? PRESENCE : WHOLE)", "WHOLE"],
      ["if (compared > MOST_COMPARED)", "if (compared > MOST_COMPARED + 1)"],
      ["compared += values();", "compared = values();"],
      ['operator === "in" ? value.split(",").length : 1', "1"],
      ["Array.isArray(value) ? value.length : 1", "1"],
    ],
    "runtime/funnel/masking.ts": [
      ["if (operation.file || operation.zipped)", "if (operation.zipped)"],
      ["else refuseMaskedForms(input);", ""],
      ["refuseManyLookups(input);", ";"],
    ],
  },
};
