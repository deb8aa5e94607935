import type { Area } from "../change.ts";

export const links: Area = {
  name: "links",
  tests: ["tests/tools/templates/rendering/liquid.test.ts"],
  changes: {
    "tools/templates/rendering/query-values.ts": [
      ['if (verb === "assign" && isEncoded(text)) encoded.add(name!);', ""],
      ["if (captured) encoded.add(captured);", ""],
      ['if (place === "text" && OUR_LINK.test(value)) place = "address";', ""],
      ["(?:mailto|sms):/i.exec", "(?:mailto|sms):/.exec"],
      ["return last === undefined ? undefined : last", 'return last === undefined ? "address" : last'],
      ['if (!scheme[0].endsWith("//")) return behind(rest) ?? place;', ""],
      ['place === "address" && rest.includes("/") ? "path" : place', "place"],
      [
        'verb?.endsWith("capture")) [captured, place] = [name, "text"];',
        'verb?.endsWith("capture")) captured = name;',
      ],
      ["const pieces = text.split(", "const pieces = [text] ?? text.split("],
    ],
  },
};
