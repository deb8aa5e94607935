import type { Area } from "../change.ts";

export const links: Area = {
  name: "links",
  tests: ["tests/tools/templates/rendering/liquid.test.ts"],
  changes: {
    "tools/templates/rendering/query-values.ts": [
      ['if (verb === "assign" && isEncoded(part)) encoded.add(name!);', ""],
      ["if (captured) encoded.add(captured);", ""],
      ['if (place === "text" && OUR_LINK.test(part)) place = "address";', ""],
      ["\\b(?:mailto|sms):/i.exec", "\\b(?:mailto|sms):/.exec"],
      ['if (!scheme[0].endsWith("//")) return behind(rest) ?? place;', ""],
      ['/[?#\\s"<>\\\\]/g, encodeURIComponent', '/[#\\s"<>\\\\]/g, encodeURIComponent'],
      ['(place === "address" && rest.includes("/") ? "path" : place)', '"address"'],
      ["const pieces = text.split(", "const pieces = [text] ?? text.split("],
    ],
  },
};
