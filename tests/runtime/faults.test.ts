import { expect, test } from "vitest";
import { Fault, one, thrownAt, toFault } from "#runtime/faults.ts";

test("a record that is not there is named by its noun and the id that was asked for", () => {
  expect(one([{ name: "Ada" }], "player", "7")).toEqual({ name: "Ada" });
  expect(() => one([], "campaign send", "7")).toThrow(
    expect.objectContaining({
      code: "not_found",
      message: "No campaign send with the id 7 in this property.",
    }),
  );
});

const thrown = (code: string, message = "") => Object.assign(new Error(message), { code });

test.each([
  ["XX000", "failure on connection marked as essential: worker-1:5432", "unavailable"],
  ["XX000", "cache lookup failed for relation 16384", "internal"],
  ["CONNECTION_CLOSED", "", "unavailable"],
  ["08006", "connection to the remote node failed", "unavailable"],
  ["57P01", "terminating connection due to administrator command", "unavailable"],
])("the database's %s (%s) is answered as %s", (code, message, expected) => {
  expect(toFault(thrown(code, message)).code).toBe(expected);
});

test("a record of several that the database refuses is named by its place", () => {
  const refusal = Object.assign(new Error("duplicate key"), { code: "23505" });
  const thrown = thrownAt(2, refusal);
  expect(thrown).toBeInstanceOf(Fault);
  expect(thrown).toMatchObject({
    code: "conflict",
    message: expect.stringMatching(/^Record \[2\]: /),
    cause: refusal,
  });
  const failure = Object.assign(new Error("deadlock"), { code: "40P01" });
  expect(thrownAt(2, failure)).toBe(failure);
});
