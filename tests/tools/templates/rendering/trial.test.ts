import { expect, test } from "vitest";
import { tryParts } from "#tools/templates/rendering/trial.ts";

const player = { custom: {}, tags: ["a"] };

test.each([
  ["{{ player.nick }} {{ player.nick }} {{ player.mood }}", ["player.nick", "player.mood"]],
  ['{{ player.nick }} {{ player.custom["a b"] }}', ["player.nick", "player.custom.a b"]],
  ["{{ __proto__ }} {{ player.nick }}", ["__proto__"]],
  ["{{ player.__proto__.x }}", ["player.__proto__"]],
])("the variables that %s lacks are named once", (source, names) => {
  const tried = () => tryParts([{ field: "text", source, engine: "text" }], () => ({ player }));
  expect(tried).toThrow(
    expect.objectContaining({
      details: names.map((name) =>
        expect.objectContaining({ message: expect.stringMatching(`^undefined variable: ${name}(,|;|$)`) }),
      ),
    }),
  );
});
