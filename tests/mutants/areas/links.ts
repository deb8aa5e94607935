import type { Area } from "../change.ts";

export const links: Area = {
  name: "links",
  tests: ["tests/tools/templates/rendering/liquid.test.ts"],
  changes: {
    "tools/templates/rendering/query-values.ts": [
      ['if (verb === "assign" && isEncoded(part)) encoded.add(name!);', ""],
      ["if (captured) encoded.add(captured);", ""],
      ['if (place === "text" && OUR_LINK.test(part)) place = "address";', ""],
      ["/https?:\\/\\//i.exec", "/https?:\\/\\//.exec"],
      ["return last === undefined ? place : last", 'return last === undefined ? "address" : last'],
      ["const pieces = text.split(", "const pieces = [text] ?? text.split("],
    ],
  },
};
