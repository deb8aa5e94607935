import { expect, test } from "vitest";
import { inShare } from "#runtime/limits/shares.ts";

test("two heavy calls of a property run at once, the others in the order of arrival, and another property's at once", async () => {
  const started: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const call = (property: string, name: string) => {
    gates.set(name, Promise.withResolvers());
    return inShare(property, async () => {
      started.push(name);
      await gates.get(name)!.promise;
      return name;
    });
  };
  const mine = ["a", "b", "c", "d"].map((name) => call("one", name));
  const theirs = call("two", "x");
  expect(started).toEqual(["a", "b", "x"]);
  gates.get("b")!.resolve();
  await mine[1];
  expect(started).toEqual(["a", "b", "x", "c"]);
  // A failure gives its place to the next too.
  gates.get("a")!.reject(new Error("failed"));
  await expect(mine[0]).rejects.toThrow("failed");
  expect(started).toEqual(["a", "b", "x", "c", "d"]);
  for (const name of ["c", "d", "x"]) gates.get(name)!.resolve();
  expect(await Promise.all([mine[2], mine[3], theirs])).toEqual(["c", "d", "x"]);
  const late = call("one", "e");
  gates.get("e")!.resolve();
  expect(await late).toBe("e");
});
