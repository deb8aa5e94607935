import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { pastTime, readable, timestamp, writable } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, type Row, table } from "#runtime/operation.ts";
import { suppressAddressesOf } from "#tools/compliance/exclude.ts";
import { mergedCustom, unknownKey } from "./custom.ts";
import customFields from "./custom-fields.table.ts";
import {
  checkStatus,
  matchLists,
  notListed,
  PLAYER_STATUSES,
  type PlayerValues,
  storedAddresses,
} from "./player.ts";
import { isBirthDate, isCountry, isTimeZone, MOST_CHARACTERS, MOST_TAG, MOST_TAGS } from "./rules.ts";
import { playersTurn } from "./turns.ts";

const text = (column: keyof typeof MOST_CHARACTERS) =>
  z.string().trim().min(1).max(MOST_CHARACTERS[column]).nullish();
const amount = () => z.number().nullish();

type Custom = Record<string, unknown>;

export default table({
  name: "players",
  noun: "player",
  key: ["player_id"],
  description: "A player is a person in the property's database.",
  softDelete: true,
  definedKeys: { column: "custom", definitions: customFields, key: "key", unknown: unknownKey },
  events: { create: "player.created", update: "player.updated", delete: "player.deleted" },
  core: ["list", "get", "create", "update", "delete"],
  concise: [
    "player_id",
    "first_name",
    "last_name",
    "email",
    "phone",
    "tier",
    "adt",
    "coin_in",
    "status",
    "consents",
    "last_visit_at",
    "created_at",
  ],
  columns: {
    player_id: writable(
      z
        .string()
        .trim()
        .min(1)
        .max(MOST_CHARACTERS.player_id)
        .optional()
        .describe("The operator's own identifier. Default: the id."),
    ),
    email: writable(z.string().max(320).nullish().meta({ format: "email" })),
    phone: writable(z.string().max(60).nullish().describe("E.164, or as dialed in the player's country")),
    first_name: writable(text("first_name")),
    last_name: writable(text("last_name")),
    tier: writable(text("tier").describe("Loyalty tier")),
    adt: writable(amount().describe("Average daily theoretical")),
    coin_in: writable(amount().describe("Money wagered")),
    status: writable(
      z
        .enum(PLAYER_STATUSES)
        .default("active")
        .describe("Callers set active, inactive or vip_hold; vip_hold gets no messages"),
    ),
    created_at: readable(timestamp()),
    lifetime_theo: writable(amount().describe("Theoretical win so far")),
    timezone: writable(text("timezone").describe("IANA time zone")),
    state: writable(text("state").describe("Such as NV")),
    postal_code: writable(text("postal_code").describe("ZIP or postal code")),
    country: writable(z.string().trim().min(1).max(2).nullish().describe("ISO 3166 code, such as US")),
    birth_date: writable(z.iso.date().nullish()),
    language: writable(text("language").describe("BCP 47, such as en-US")),
    phone_e164: readable(z.string().nullable(), "phone"),
    phone_type: writable(text("phone_type").describe("Such as mobile or landline")),
    email_status: readable(z.enum(["unknown", "deliverable", "risky", "undeliverable"])),
    email_validated_at: readable(timestamp().nullable()),
    consents: readable(z.record(z.string(), z.unknown()).describe("Channel to true or false")),
    consent_expiries: readable(z.record(z.string(), z.unknown()).nullable()),
    custom: writable(
      z
        .record(z.string(), z.unknown())
        .default({})
        .describe(
          "The property's own fields by key, from list_custom_fields; null takes one out, what is not named stays",
        ),
    ),
    last_visit_at: writable(pastTime().nullish().describe("Not in the future")),
    host_id: writable(z.uuid().nullish().describe("The casino host, by the operator's id")),
    tags: writable(
      z
        .array(z.string().trim().min(1).max(MOST_TAG))
        .max(MOST_TAGS)
        .default([])
        .describe("Labels; an update replaces them all"),
    ),
    legal_hold: readable(
      z.boolean().describe("Keeps the player's data from being erased; set_legal_hold sets it"),
    ),
    import_job_id: readable(z.uuid().nullable()),
    deleted_at: readable(timestamp().nullable()),
  },
  turn: playersTurn,
  beforeWrite,
  lookup: { clear: notListed, apply: checkLists },
  afterWrite,
});

async function beforeWrite(context: Context, { verb, input, current }: Change): Promise<PlayerValues> {
  if (verb === "delete") return {};
  if (current?.status === "erased")
    throw new Fault("conflict", { message: "This player's data was erased." });
  checkStatus(input.status, verb === "create" ? undefined : current?.status);
  checkFields(context, input);
  const values: PlayerValues = { ...input };
  if (input.custom !== undefined) {
    values.custom = await mergedCustom(
      context,
      input.custom as Custom,
      current?.custom as Custom | undefined,
    );
  }
  if (typeof input.country === "string") values.country = input.country.toUpperCase();
  Object.assign(values, storedAddresses(context, input, values.country ?? current?.country));
  if (verb === "create") {
    values.id = randomUUIDv7();
    values.player_id ??= values.id;
  }
  if (current && values.email !== undefined && values.email !== current.email) {
    Object.assign(values, { email_status: "unknown", email_validated_at: null });
  }
  return values;
}

/** An erased person is refused, a self-excluded one is written as such, whatever the caller asked for. */
async function checkLists(context: Context, values: PlayerValues, current: Row | null): Promise<void> {
  const person = ["email", "phone", "first_name", "last_name", "birth_date"];
  if (!person.some((name) => values[name] !== undefined)) return;
  const found = await matchLists(context, { ...current, ...values }, current);
  if (found.erased) {
    throw new Fault("conflict", {
      message: "A person with this address had their data erased, and must not be stored again.",
    });
  }
  if (found.excluded && current?.status !== "deceased") values.status = "self_excluded";
}

function checkFields({ now }: Context, input: PlayerValues): void {
  const { country, timezone, birth_date: birth } = input;
  if (typeof country === "string" && !isCountry(country)) {
    throw invalid("country", "must be an ISO 3166 code, such as US");
  }
  if (typeof timezone === "string" && !isTimeZone(timezone)) {
    throw invalid("timezone", "must be an IANA time zone, such as America/New_York");
  }
  if (typeof birth === "string" && !isBirthDate(birth, now())) {
    throw invalid("birth_date", "must lie between 1900-01-01 and today");
  }
}

async function afterWrite(context: Context, { verb, current, row }: Change & { row: Row }): Promise<void> {
  const { emit } = context;
  if (verb === "delete") return;
  if (current && current.tier !== row.tier) emit("player.tier_changed", row, { tier: current.tier });
  if (row.status === "self_excluded") await suppressAddressesOf(context, [row.id]);
  if (row.status === "self_excluded" && current?.status !== "self_excluded")
    emit("player.self_excluded", row);
}
