import { z } from "zod";
import { join, sql } from "#db/sql.ts";
import { Label } from "./branch.ts";
import type { NodeKind } from "./node.ts";

export const SplitConfig = z.strictObject({
  splits: z
    .array(z.strictObject({ label: Label, percent: z.number().positive().max(100) }))
    .min(2)
    .max(20)
    .describe("Shares that add up to 100. A holdout is a share whose edge leads to an exit"),
});
export type SplitConfig = z.output<typeof SplitConfig>;

export const randomSplit: NodeKind<SplitConfig> = {
  type: "random_split",
  meaning: "Divides players by chance. The same player takes the same edge at every visit and entry.",
  config: SplitConfig,
  labels: ({ splits }) => splits.map(({ label }) => label),
  problems({ splits }) {
    const total = splits.reduce((sum, { percent }) => sum + percent, 0);
    const labels = new Set(splits.map(({ label }) => label));
    return [
      ...(Math.abs(total - 100) > 1e-6
        ? [
            {
              field: "splits",
              message: `add up to ${Number(total.toFixed(6))} percent; they must add up to 100`,
            },
          ]
        : []),
      ...(labels.size < splits.length ? [{ field: "splits", message: "must not have a label twice" }] : []),
    ];
  },
  next({ id, config }, { journeyId }) {
    // Two bytes of a hash: the same for a player in every version, entry and process.
    const drawn = sql`sha256(convert_to(${`${journeyId}|${id}|`}::text, 'UTF8') || uuid_send(d.player_id))`;
    const share = sql`(get_byte(${drawn}, 0) * 256 + get_byte(${drawn}, 1)) / 65536.0 * 100`;
    let below = 0;
    const cases = config.splits.slice(0, -1).map(({ label, percent }) => {
      below += percent;
      return sql`when ${share} < ${below}::double precision then ${label}`;
    });
    return sql`case ${join(cases, " ")} else ${config.splits.at(-1)!.label} end`;
  },
};
