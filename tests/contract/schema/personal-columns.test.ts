import { expect, test } from "vitest";
import { maskedValue } from "#runtime/masking/values.ts";
import players from "#tools/players/players.table.ts";
import { eventBody } from "#tools/webhooks/event-body.ts";

/** Texts of a player that name nobody and reach nobody. Any other is masked, and left out of webhooks without personal data. */
const HARMLESS = new Set<string>([
  "player_id",
  "state",
  "timezone",
  "language",
  "tier",
  "phone_type",
  "postal_code",
]);
const EXAMPLES: Readonly<Record<string, string>> = {
  email: "zoe@example.com",
  phone: "+17025550101",
  phone_e164: "+17025550101",
  birth_date: "1990-05-06",
};

const texts = Object.entries(players.columns).filter(
  ([, { schema }]) => schema.safeParse("Zoë").success || schema.safeParse("1990-05-06").success,
);

test("a text of a player that may name the person is masked, and stays out of webhooks without personal data", () => {
  const open = [...texts.map(([name]) => name), ...Object.keys(EXAMPLES)].filter((name) => {
    if (HARMLESS.has(name)) return false;
    const object = { id: "1", [name]: EXAMPLES[name] ?? "Zoë" };
    const event = { event_id: "1", event_type: "player.updated", occurred_at: new Date(), data: { object } };
    const told = eventBody(event as never, "1", false).includes(object[name]!);
    const shown = JSON.stringify(maskedValue(object)).includes(object[name]!);
    return told || shown;
  });
  expect(
    open,
    "Name it in FIELDS of runtime/masking/values.ts and in PERSONAL of tools/webhooks/event-body.ts, or in HARMLESS here.",
  ).toEqual([]);
});

test("the key of an enrollment stays out of webhooks without personal data, as it is masked", () => {
  const object = { id: "1", journey_id: "2", entry_key: "zoe@example.com" };
  const event = {
    event_id: "1",
    type: "player.journey_entered",
    occurred_at: "2027-01-01T00:00:00Z",
    data: { object },
  };
  expect(JSON.parse(eventBody(event, "3", false)).data).toEqual({ object: { id: "1", journey_id: "2" } });
  expect(JSON.parse(eventBody(event, "3", true)).data).toEqual({ object });
});
