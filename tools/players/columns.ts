import { z } from "zod";
import { pastTime, readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Change, RowOf } from "#runtime/operation/table.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { EMAIL_FORM, PHONE_FORM } from "#tools/people/address.ts";
import { COUNTRY_FORM, LANGUAGE_FORM, STATE_FORM } from "#tools/people/places.ts";
import { TIME_ZONE_FORM, timeZone } from "#tools/people/time-zones.ts";
import { EMAIL_STATUSES, PLAYER_STATUSES } from "#tools/statuses/players.ts";
import { MOST_CHARACTERS, MOST_TAG, MOST_TAGS } from "./rules.ts";

const text = (column: keyof typeof MOST_CHARACTERS) =>
  z.string().trim().min(1).max(MOST_CHARACTERS[column]).nullish();
const amount = () => z.number().nullish();

export const columns = {
  player_id: writable(
    z
      .string()
      .trim()
      .min(1)
      .max(MOST_CHARACTERS.player_id)
      .optional()
      .describe("The operator's own identifier. Default: the id."),
    { concise: true },
  ),
  email: writable(
    z.string().min(1).max(320).nullish().meta({ format: "email" }).describe("Where mail goes"),
    {
      concise: true,
      form: EMAIL_FORM,
    },
  ),
  phone: writable(
    z.string().min(1).max(60).nullish().describe("E.164, or as dialed in the player's country"),
    { concise: true, form: PHONE_FORM },
  ),
  first_name: writable(text("first_name").describe("Given name"), { concise: true }),
  last_name: writable(text("last_name").describe("Family name"), { concise: true }),
  tier: writable(text("tier").describe("Loyalty tier"), { concise: true, vocabulary: true }),
  adt: writable(amount().describe("Average daily theoretical"), { concise: true }),
  coin_in: writable(amount().describe("Money wagered"), { concise: true }),
  status: writable(
    z
      .enum(PLAYER_STATUSES)
      .default("active")
      .describe("Callers set active, inactive or vip_hold; vip_hold gets no messages"),
    { concise: true },
  ),
  created_at: readable(timestamp(), { concise: true }),
  lifetime_theo: writable(amount().describe("Theoretical win so far")),
  timezone: writable(timeZone().nullish().describe("IANA time zone"), {
    vocabulary: true,
    form: TIME_ZONE_FORM,
  }),
  state: writable(text("state").describe("Such as NV; Nevada becomes NV"), {
    vocabulary: true,
    form: STATE_FORM,
  }),
  postal_code: writable(text("postal_code").describe("ZIP or postal code")),
  country: writable(z.string().trim().min(1).max(2).nullish().describe("ISO 3166 code, such as US"), {
    vocabulary: true,
    form: COUNTRY_FORM,
  }),
  birth_date: writable(z.iso.date().nullish().describe("Games and gates ask for the age")),
  language: writable(text("language").describe("BCP 47, such as en-US"), { form: LANGUAGE_FORM }),
  phone_e164: readable(z.string().nullable(), { sql: "phone", form: PHONE_FORM }),
  phone_type: writable(text("phone_type").describe("Such as mobile or landline"), { vocabulary: true }),
  email_status: readable(z.enum(EMAIL_STATUSES)),
  email_validated_at: readable(timestamp().nullable()),
  consents: readable(z.record(z.string(), z.unknown()).describe("Channel to true or false"), {
    concise: true,
    keys: CHANNELS,
  }),
  consent_expiries: readable(z.record(z.string(), z.unknown()).nullable(), { keys: CHANNELS }),
  consent_levels: readable(
    z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("Channel to express_written or implied; absent: express"),
    { keys: CHANNELS },
  ),
  custom: writable(
    z
      .record(z.string(), z.unknown())
      .default({})
      .describe(
        "The property's own fields by key, from list_custom_fields; null removes a value, absent keys stay",
      ),
  ),
  last_visit_at: writable(pastTime().nullish().describe("Not in the future"), { concise: true }),
  host_id: writable(z.uuid().nullish().describe("The casino host, by the operator's id")),
  tags: writable(
    z
      .array(z.string().trim().min(1).max(MOST_TAG))
      .max(MOST_TAGS)
      .default([])
      .describe("Labels; an update replaces them all"),
    { vocabulary: true },
  ),
  legal_hold: readable(
    z.boolean().describe("Protects the player's data from erasure; set_legal_hold sets it"),
  ),
  import_job_id: readable(z.uuid().nullable()),
  deleted_at: readable(timestamp().nullable()),
};

export type Player = RowOf<typeof columns>;
export type PlayerChange = Change<typeof columns>;
