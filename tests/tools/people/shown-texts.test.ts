import { expect, test } from "vitest";
import { contactIn } from "#tools/people/shown-texts.ts";

test.each([
  ["evil.\u202ecom", "a web address"],
  ["w\u202eww.evil", "a web address"],
  ["Call +1 702\u202e 555 0101", "a phone number"],
  ["Ana\u202e", null],
])("in %j a character that turns the rest around hides no address", (name, found) => {
  expect(contactIn(name)).toBe(found);
});
