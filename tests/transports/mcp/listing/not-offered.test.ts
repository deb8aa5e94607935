import { expect, test } from "vitest";
import { notOffered } from "#transports/mcp/listing/not-offered.ts";
import { REQUESTS } from "./requests.ts";

test.each([
  ["send a WhatsApp to all gold players", /Messengers are not offered/],
  ["start a Facebook ad", /Advertising/],
  ["print postcards", /Printed mail/],
  ["refund the guest", /Money/],
  ["book a table for two", /Bookings/],
  ["recall an email that was wrong", /cannot be called back/],
  ["unsend the last newsletter", /cannot be called back/],
  ["undo the erasure of a player", /cannot be undone/],
  ["undo the last send", /cannot be called back/],
  ["move a player's consents to another property", /Properties share nothing/],
  ["copy our best players over to the other casino", /Properties share nothing/],
  ["choose the winner of an A/B test by hand", /chosen by its metric/],
  ["double opt-in for Germany", /are not offered/],
  ["set a budget for the campaign", /cap of spend is not offered/],
  ["cost of this month's texts", /sum of costs .* not offered/],
  ["roll back the import of yesterday", /cannot be undone as a whole/],
  ["transfer the call to a human", /not passed on/],
  ["pass a player's call to the VIP host", /not passed on/],
  ["choose the winning variant ourselves", /chosen by its metric/],
  ["cap what we spend on texts", /cap of spend is not offered/],
  ["how much did we spend on messages this year", /sum of costs .* not offered/],
  ["our monthly SMS bill", /sum of costs .* not offered/],
  ["stop the journey at a spending limit of $500", /cap of spend is not offered/],
  ["set a budget for the wheel", /cap of spend is not offered/],
  ["limit how much money this journey may cost", /cap of spend is not offered/],
  ["what did all our texts cost last month", /sum of costs .* not offered/],
  ["total cost of the texts in October", /sum of costs .* not offered/],
])("what is not offered is said: %s", (request, answer) => {
  expect(notOffered(request)).toMatch(answer);
});

// Words of costs, budgets and winners stand in requests about players, prizes and approvals too.
test.each([
  "players whose total spend last month is over 500",
  "guests who spent nothing this year",
  "send to everyone who spent 200 last week",
  "export players with their spend last month",
  "offer for guests who pay for a room this month",
  "top players by total spend",
  "record a deposit and spend this week",
  "custom field for monthly spend",
  "players who paid no visit last month",
  "cost of each campaign last month",
  "how much did the Easter campaign cost last week",
  "monthly cost of the birthday journey",
  "set an approval limit on cost",
  "maximum cost without approval",
  "approve a campaign over the cost limit",
  "set the budget tier of a player",
  "take back a consent for texts",
  "take back an email suppression",
  "take back the campaign's approval",
  "recall a campaign that is scheduled",
  "undo the scheduled send",
  "undo the scheduling of a send",
  "undo a pause of sending",
  "name the winning prize now",
  "set winning odds by hand",
  "pick the prize of the wheel's winner now",
  "connect calls to Twilio",
  "hand over calls to an AI agent",
  "players who asked for a refund",
  "an email about refunds",
  "give points as a prize",
  "players by post code",
])("what is offered is not refused: %s", (request) => {
  expect(notOffered(request)).toBeNull();
});

test("every request of the list is offered", () => {
  expect(REQUESTS.filter(([request]) => notOffered(request) !== null)).toEqual([]);
});
