import { expect, test } from "vitest";
import { stageOf } from "#transports/pages/games/stage.ts";
import { speechOf } from "#transports/pages/words/words.ts";

const wheelOf = (count: number) =>
  String(
    stageOf(
      {
        ...{ id: "", name: "", description: null, type: "spin_wheel", status: "active", ends_at: null },
        ...{
          rules_text: null,
          rules_url: null,
          free_entry_url: null,
          own_free_entry: false,
          odds_published: true,
        },
        prizes: Array.from({ length: count }, (_, slice_index) => ({
          ...{ id: "", label: "Prize", kind: "comp", value: 1, slice_index },
        })),
      },
      speechOf().say,
    ),
  );

test("no two neighbours on a wheel have one colour, the last and the first among them", () => {
  // Of the six classes, 0 and 4 have the colour of the brand, and 1, 3 and 5 its tint.
  const colours = ["brand", "tint", "accent", "tint", "brand", "tint"];
  for (let count = 2; count <= 24; count += 1) {
    const slices = [...wheelOf(count).matchAll(/<path class="s(\d)"/g)].map(
      ([, one]) => colours[Number(one)],
    );
    expect(slices).toHaveLength(count);
    for (const [index, colour] of slices.entries()) expect(colour, `${count}`).not.toBe(slices.at(index - 1));
  }
});
