import stringWidth from "fast-string-truncated-width";
import { describe, expect, test } from "vitest";
import { asTable } from "#transports/cli/result/table.ts";

describe("a table for people", () => {
  const rows = [
    { id: "01a1fe19-d7e1-7445-9ac4-3493deb23626", name: "n".repeat(100), note: "", tags: ["a", "b"] },
    { id: "01a1fe19-d7e1-7445-9ac4-3493deb23627", name: "short", note: null, tags: [] },
  ];
  const widest = (text: string) => Math.max(...text.split("\n").map((line) => line.length));
  const shown = (text: string) => stringWidth(text).width;

  test("is never wider than the terminal, and leaves empty columns out", () => {
    for (const width of [60, 80, 200]) {
      const table = asTable(rows, { width });
      expect(widest(table), String(width)).toBeLessThanOrEqual(width);
      expect(table.split("\n")[0]).not.toContain("note");
    }
    expect(asTable(rows, { width: 60 }).split("\n")[2]).toContain("…");
  });

  test("becomes one record below the other where the columns do not fit at all", () => {
    expect(asTable(rows, { width: 12 }).split("\n\n")).toHaveLength(2);
    expect(asTable(rows, { width: 12 })).toContain("short");
  });

  test("shows the columns that were asked for, also when they are empty", () => {
    expect(asTable(rows, { order: ["note", "id"] }).split("\n")[0]).toMatch(/^note +id$/);
  });

  test("inside a record keeps its ids in a pipe, and lets long texts go before a line gets out of hand", () => {
    const sample = {
      player_id: rows[0]!.id,
      subject: "Hello",
      text: "t".repeat(900),
      html: "h".repeat(4_000),
    };
    const warnings = [`${"First ".repeat(20)}end.`, `${"Second ".repeat(20)}end.`];
    const text = asTable({ ok: true, warnings, samples: [sample, sample] });
    const widest = Math.max(...text.split("\n").map((line) => line.length));
    expect(widest).toBeLessThanOrEqual(162);
    expect(text).toContain(rows[0]!.id);
    expect(text).toMatch(/^warnings {2}First .*end\.\n {10}Second .*end\.$/m);
    // A list is what was asked for: a pipe gets it whole.
    expect(asTable([sample]).split("\n")[2]!.length).toBeGreaterThan(4_900);
  });

  test("shows a record within a record as lines of its own, unless it is short", () => {
    const campaign = { id: rows[0]!.id, subject: "s".repeat(60) };
    const cost = { amount: 12.5, currency: "USD", unpriced: null };
    const text = asTable({ success: true, skipped: { no_consent: 1 }, cost, campaign });
    expect(text).toContain("skipped   no_consent 1");
    expect(text).toContain("cost      amount 12.5, currency USD\n");
    expect(text).toContain(`campaign  \n  id       ${campaign.id}\n  subject  ${campaign.subject}`);
  });

  test("shows every message whole, below the other fields where the line is too short for it", () => {
    const message = "the property has none, and a marketing email must show it; set it with update_property";
    for (const width of [undefined, 200, 80, 40]) {
      const text = asTable({ ok: false, errors: [{ field: "f".repeat(60), message }] }, { width });
      expect(text.replaceAll(/\s+/g, " ")).toContain(message);
    }
  });

  test("is as wide as it needs where there is no terminal", () => {
    expect(asTable(rows).split("\n")[2]).toContain(rows[0]!.id);
  });

  test("lines up names in every alphabet, and cuts no letter in two", () => {
    const names = [
      "山田太郎",
      "Zoë",
      "e\u0301mile",
      "👩‍👩‍👧",
      "김민준",
      "🇺🇸".repeat(30),
      "漢".repeat(60),
      `a${"𠀀".repeat(60)}`,
    ];
    const table = asTable(names.map((name) => ({ name, tier: "Gold" })));
    const places = table
      .split("\n")
      .slice(2)
      .map((line) => shown(line.slice(0, line.lastIndexOf("Gold"))));
    expect(new Set(places), table).toEqual(new Set([widest(table.split("\n")[1]!) - 4]));
    expect(table.isWellFormed()).toBe(true);
    for (const width of [20, 30, 50]) {
      const lines = asTable(
        names.map((name) => ({ name, tier: "Gold" })),
        { width },
      ).split("\n");
      expect(Math.max(...lines.map(shown)), String(width)).toBeLessThanOrEqual(width);
    }
  });

  test("gives the terminal no orders, also from a name that holds some", () => {
    const hostile = "\u001b[2J\u001b]0;owned\u0007\u009b31mA\u007f\u202eB\u2066";
    for (const value of [
      [{ name: hostile }],
      { name: hostile },
      { inner: { id: "i".repeat(90), name: hostile } },
    ]) {
      const text = asTable(value);
      expect(text).not.toMatch(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
      expect(text).toContain("�[2J�]0;owned��31mA��B�");
    }
  });
});
