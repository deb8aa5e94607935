import type { Area } from "../change.ts";

export const figures: Area = {
  name: "figures",
  tests: ["tests/tools/campaigns/campaign/ab-test.test.ts", "tests/tools/campaigns/stats/stats.test.ts"],
  changes: {
    "tools/campaigns/stats/cost.ts": [
      ["const isKnown = currencies.size < 2 && (", "const isKnown = ("],
      ['unit === "segment" ? group.segments : group.accepted', "group.accepted"],
      ["groups.filter(({ accepted }) => accepted > 0)", "groups"],
      [": minutes === 0 ? 0 : null", ": 0"],
    ],
    "tools/campaigns/stats/compare-variants.ts": [
      ["variants.every(({ sample }) => sample >= min_sample) && fitsTest", "fitsTest"],
      ["ab_result && hasRest(ab_test)", "false"],
      ["Math.min(share, 1 - share)", "share"],
      ["const ALPHA = 0.05;", "const ALPHA = 0.06;"],
    ],
  },
};
