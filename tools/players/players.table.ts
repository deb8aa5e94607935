import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { pastTime, readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type RowOf, table } from "#runtime/operation/table.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import {
  barLeftAddresses,
  freeLeftAddresses,
  isBarring,
  type Leaving,
} from "#tools/compliance/left-addresses.ts";
import { suppressAddressesOf } from "#tools/compliance/self-exclusion.ts";
import customFields from "#tools/custom-fields/custom-fields.table.ts";
import { formOfField, mergedCustom, unknownKey } from "#tools/custom-fields/values.ts";
import { askAboutDates } from "#tools/enrollments/ask.ts";
import { EMAIL_FORM, PHONE_FORM } from "#tools/people/address.ts";
import { sharedPlayerWriteLock } from "#tools/people/locks.ts";
import {
  COUNTRY_FORM,
  isCountry,
  LANGUAGE_FORM,
  languageOf,
  STATE_FORM,
  stateOf,
} from "#tools/people/places.ts";
import { playerWords } from "#tools/people/words.ts";
import {
  CONTACTABLE_STATUSES,
  EMAIL_STATUSES,
  isStatus,
  KEPT_BY_NUMBER,
  PLAYER_STATUSES,
} from "#tools/statuses/players.ts";
import { checkStatus, matchPerson, type PlayerValues, storedAddresses } from "./player.ts";
import { isBirthDate, isTimeZone, MOST_CHARACTERS, MOST_TAG, MOST_TAGS } from "./rules.ts";
import { askAboutNewTexts, askAboutWeakening } from "./weakening.ts";

const text = (column: keyof typeof MOST_CHARACTERS) =>
  z.string().trim().min(1).max(MOST_CHARACTERS[column]).nullish();
const amount = () => z.number().nullish();

const columns = {
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
  email: writable(z.string().min(1).max(320).nullish().meta({ format: "email" }), {
    concise: true,
    form: EMAIL_FORM,
  }),
  phone: writable(
    z.string().min(1).max(60).nullish().describe("E.164, or as dialed in the player's country"),
    { concise: true, form: PHONE_FORM },
  ),
  first_name: writable(text("first_name"), { concise: true }),
  last_name: writable(text("last_name"), { concise: true }),
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
  timezone: writable(text("timezone").describe("IANA time zone"), { vocabulary: true }),
  state: writable(text("state").describe("Such as NV; Nevada becomes NV"), {
    vocabulary: true,
    form: STATE_FORM,
  }),
  postal_code: writable(text("postal_code").describe("ZIP or postal code")),
  country: writable(z.string().trim().min(1).max(2).nullish().describe("ISO 3166 code, such as US"), {
    vocabulary: true,
    form: COUNTRY_FORM,
  }),
  birth_date: writable(z.iso.date().nullish()),
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

type Player = RowOf<typeof columns>;

/** The columns by which the property's lists name a person. */
const PERSON = ["email", "phone", "first_name", "last_name", "birth_date"];

export default table({
  name: "players",
  noun: "player",
  key: ["player_id"],
  called: "player_id",
  description: "A player is a person in the property's database.",
  softDelete: true,
  definedKeys: {
    column: "custom",
    definitions: customFields,
    key: "key",
    unknown: unknownKey,
    form: formOfField,
  },
  events: { create: "player.created", update: "player.updated", delete: "player.deleted" },
  core: ["list", "get", "create", "update", "delete"],
  asks: ["create", "update"],
  movesPlayers: true,
  columns,
  lock: sharedPlayerWriteLock,
  groupCommit: true,
  beforeWrite,
  afterWrite,
  removalWords,
});

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change<typeof columns>,
): Promise<PlayerValues> {
  if (verb === "delete") {
    await barLeftAddresses(context, leavingOf({ email: null, phone: null }, current));
    return {};
  }
  if (current?.status === "erased")
    throw new Fault("conflict", { message: "This player's data was erased." });
  checkStatus(input.status, verb === "create" ? undefined : current?.status);
  checkNumber(context, input.player_id, current);
  checkFields(context, input);
  const values: PlayerValues = { ...input };
  if (input.custom !== undefined) {
    values.custom = await mergedCustom(context, input.custom, current?.custom);
  }
  Object.assign(values, storedPlace(context, input, current));
  Object.assign(values, storedAddresses(context, input, values.country ?? current?.country));
  if (verb === "create") {
    values.id = randomUUIDv7();
    values.player_id ??= values.id;
  }
  if (current && values.email !== undefined && values.email !== current.email) {
    Object.assign(values, { email_status: "unknown", email_validated_at: null });
  }
  if (current) await askAboutWeakening(context, { current, values });
  else askAboutNewTexts(context, values);
  await checkPerson(context, input.player_id, values, current);
  if (current) await barLeftAddresses(context, leavingOf(values, current));
  // A person whom a list bars has the status of the list by now.
  if (current?.status === "vip_hold" && isStatus(CONTACTABLE_STATUSES, values.status)) {
    await freeLeftAddresses(context, [current.id]);
  }
  return values;
}

/** The addresses that the new values take from a record with a bar. */
function leavingOf(values: PlayerValues, current: Player): Leaving[] {
  const leaves = (name: "email" | "phone") => values[name] !== undefined && values[name] !== current[name];
  const leaving = { id: current.id, email: leaves("email"), phone: leaves("phone") };
  return isBarring(current) && (leaving.email || leaving.phone) ? [leaving] : [];
}

/** Country, state and language of `input` in their stored form. Throws `invalid`: quiet hours go by the place. */
function storedPlace(
  { property }: Context,
  input: Change<typeof columns>["input"],
  current: Player | null,
): PlayerValues {
  const values: PlayerValues = {};
  if (input.country) {
    if (!isCountry(input.country)) throw invalid("country", "must be an ISO 3166 code, such as US");
    values.country = input.country.toUpperCase();
  }
  if (input.state) {
    const country = values.country ?? (input.country === undefined ? current?.country : null);
    const home = String(country ?? property.default_country);
    const state = stateOf(input.state, home);
    if (state === null) throw invalid("state", `must be a state of ${home}, by its code or name, such as FL`);
    values.state = state;
  }
  if (input.language) {
    const language = languageOf(input.language);
    if (language === null) throw invalid("language", "must be a language tag (BCP 47), such as en-US");
    values.language = language;
  }
  return values;
}

/**
 * The player_id of a merged record means the record that it was merged into, and is refused, as is an erased person. A
 * self-excluded person is written as such, whatever the caller asked for.
 */
async function checkPerson(
  context: Context,
  given: string | undefined,
  values: PlayerValues,
  current: Player | null,
): Promise<void> {
  const playerId = given === current?.player_id ? undefined : given;
  const isPerson = PERSON.some((name) => values[name] !== undefined);
  if (playerId === undefined && !isPerson) return;
  const found = await matchPerson(context, playerId, { ...current, ...values }, current);
  if (found.barred !== null && current?.status !== "self_excluded") values.status = found.barred;
  if (found.merged_into !== null && found.merged_into !== current?.id) {
    throw new Fault("conflict", {
      message: `The player_id ${JSON.stringify(playerId)} was merged: it means the player ${found.merged_into}.`,
    });
  }
  if (!isPerson) return;
  if (found.erased) {
    throw new Fault("conflict", {
      message: "The data of a person with this address was erased; the address must not be stored again.",
    });
  }
  if (found.excluded && values.status !== "deceased" && current?.status !== "deceased") {
    values.status = "self_excluded";
  }
}

/** The number of a barred player means that person: with another number a new record would be none of theirs. */
function checkNumber({ call }: Context, playerId: string | undefined, current: Player | null): void {
  if (!current || playerId === undefined || playerId === current.player_id) return;
  if (!isStatus(KEPT_BY_NUMBER, current.status)) return;
  if (call.actor.type === "user" || call.actor.type === "system") return;
  throw new Fault("conflict", {
    message: `The player is ${current.status}. Only a signed-in admin or manager can change the player_id.`,
  });
}

function checkFields({ now }: Context, input: Change<typeof columns>["input"]): void {
  const { timezone, birth_date: birth } = input;
  if (timezone && !isTimeZone(timezone)) {
    throw invalid("timezone", "must be an IANA time zone, such as America/New_York");
  }
  if (birth && !isBirthDate(birth, now())) {
    throw invalid("birth_date", "must lie between 1900-01-01 and today");
  }
}

async function removalWords(context: Context, { id }: Player): Promise<string[]> {
  const { sql, property } = context;
  const [counts] = await sql<[{ messages: number; consents: number; events: number }]>`
    select (select count(*)::int from campaign_sends s where s.property_id = ${property.id} and s.player_id = ${id}) as messages,
      (select count(*)::int from consent_records c where c.property_id = ${property.id} and c.player_id = ${id}) as consents,
      (select count(*)::int from player_events e where e.property_id = ${property.id} and e.player_id = ${id}) as events`;
  const { messages, consents, events } = counts;
  return [
    `This deletes ${await playerWords(context, id)}, with ${messages} messages, ${consents} consent records and ${events} events, which are kept.`,
    "restore_player brings the player back for 30 days.",
  ];
}

async function afterWrite(
  context: Context,
  { verb, current, row }: Change<typeof columns> & { row: Player },
): Promise<void> {
  const { emit } = context;
  if (verb === "delete") return;
  await askAboutDates(context, { before: current, after: row });
  if (current && current.tier !== row.tier) emit("player.tier_changed", row, { tier: current.tier });
  if (row.status === "self_excluded") await suppressAddressesOf(context, [row.id]);
  if (row.status === "self_excluded" && current?.status !== "self_excluded")
    emit("player.self_excluded", row);
}
