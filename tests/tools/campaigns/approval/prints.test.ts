import { expect, test } from "vitest";
import { changesSince } from "#tools/approvals/approval.ts";
import { APPROVED_COLUMNS } from "#tools/campaigns/approval/prints.ts";
import campaigns from "#tools/campaigns/campaigns.table.ts";

test("an approved part that is gone is a change, as is a new part", () => {
  const approved = { content: { subject: { words: "the subject", hash: "a" } } };
  const present = { content: { body: { words: "the text", hash: "b" } } };
  expect(changesSince(approved, present)).toEqual(["the subject", "the text"]);
  expect(changesSince(approved, approved)).toEqual([]);
  expect(changesSince(null, present)).toEqual(["nobody has approved it"]);
});

test("each column that a caller writes is approved, or is known to reach nobody", () => {
  const approvedNames = Object.values(APPROVED_COLUMNS).flatMap((columns) => Object.keys(columns));
  const writable = Object.entries(campaigns.columns).flatMap(([name, { write }]) =>
    write === "never" ? [] : [name],
  );
  const harmless = [
    ...["name", "throttle_per_minute", "max_send_errors", "priority", "archived_at"],
    "expires_after_hours",
  ];
  expect(
    approvedNames.toSorted(),
    "Does the column change what people get, or who gets it? Then name it in APPROVED_COLUMNS, else among the harmless here.",
  ).toEqual(writable.filter((name) => !harmless.includes(name)).toSorted());
});
