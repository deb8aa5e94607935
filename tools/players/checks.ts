import { randomUUIDv7 } from "node:crypto";
import { Fault, invalid } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changesNothing } from "#runtime/operation/crud.ts";
import { type UntilRefused, untilRefused } from "#runtime/together.ts";
import {
  barLeftAddresses,
  freeLeftAddresses,
  isBarring,
  type Leaving,
} from "#tools/compliance/left-addresses.ts";
import { type CustomFields, mergedCustom, sharedCustomFields } from "#tools/custom-fields/values.ts";
import { comparedForm, isSameAddress } from "#tools/people/address.ts";
import { isCountry, languageOf, stateOf } from "#tools/people/places.ts";
import { CONTACTABLE_STATUSES, isStatus, KEPT_BY_NUMBER } from "#tools/statuses/players.ts";
import type { Player, PlayerChange } from "./columns.ts";
import {
  checkStatus,
  matchPersons,
  type PersonMatches,
  type PlayerValues,
  storedAddresses,
} from "./player.ts";
import { isBirthDate } from "./rules.ts";
import { askAboutNewTexts, askAboutWeakening } from "./weakening.ts";

/** The columns by which the property's lists name a person. */
const PERSON = ["email", "phone", "first_name", "last_name", "birth_date"];

export async function barRemoved(context: Context, { current }: PlayerChange): Promise<PlayerValues> {
  if (current) await barLeftAddresses(context, leavingOf({ email: null, phone: null }, current));
  return {};
}

type Writing = Exclude<PlayerChange, { verb: "delete" }>;

/** The stored values of players, checked by themselves and by the property's lists. */
export async function beforeWrites(
  context: Context,
  changes: PlayerChange[],
): Promise<UntilRefused<PlayerValues>> {
  const hasCustom = changes.some(({ input }) => Object.keys(input.custom ?? {}).length > 0);
  const fields = hasCustom ? await sharedCustomFields(context) : new Map();
  // In order: lists show an array's records by their ids, and those of one millisecond come in none.
  const ids = changes.map(() => randomUUIDv7()).toSorted();
  const stored = await untilRefused(changes as Writing[], (change, index) => ({
    ...change,
    values: storedValues(context, change, { fields, id: ids[index]! }),
  }));
  const updates = stored.done.flatMap(({ current, values }) => (current ? [{ current, values }] : []));
  refuseMoved(context, updates);
  await askAboutWeakening(context, updates);
  for (const { current, values } of stored.done) if (!current) askAboutNewTexts(context, values);
  const persons = await checkedPersons(context, stored.done);
  const checked = stored.done.slice(0, persons.done.length);
  const known = checked.flatMap(({ current, values }) => (current ? [{ current, values }] : []));
  await barLeftAddresses(
    context,
    known.flatMap(({ values, current }) => leavingOf(values, current)),
  );
  // A person whom a list bars has the status of the list by now.
  const freed = known.filter(
    ({ current, values }) => current.status === "vip_hold" && isStatus(CONTACTABLE_STATUSES, values.status),
  );
  await freeLeftAddresses(
    context,
    freed.map(({ current }) => current.id),
  );
  return { done: checked.map(({ values }) => values), refusal: persons.refusal ?? stored.refusal };
}

/** A message to the player would show another address what its sender may not see. */
function refuseMoved({ call }: Context, updates: readonly { current: Player; values: PlayerValues }[]): void {
  const isMoved = updates.some(({ current, values: { email, phone } }) =>
    [
      [email, current.email],
      [phone, current.phone],
    ].some(([next, last]) => Boolean(next) && next !== last),
  );
  if (isMoved) refuseMasked(call, "the messages to a player would go to another address");
}

interface Storing {
  fields: CustomFields;
  /** Of a new record. */
  id: string;
}

/** The values of a change as they are stored, checked by themselves. Throws the refusal. */
function storedValues(
  context: Context,
  { verb, input, current }: Writing,
  { fields, id }: Storing,
): PlayerValues {
  if (current?.status === "erased")
    throw new Fault("conflict", { message: "This player's data was erased." });
  checkStatus(input.status, current?.status);
  checkNumber(context, input.player_id, current);
  checkFields(context, input);
  const values: PlayerValues = { ...input };
  if (input.custom !== undefined) values.custom = mergedCustom(fields, input.custom, current?.custom);
  Object.assign(values, storedPlace(context, input, current));
  Object.assign(values, storedAddresses(context, input, values.country ?? current?.country));
  if (verb === "create") {
    values.id = id;
    values.player_id ??= id;
  }
  if (current && values.email !== undefined && values.email !== current.email) {
    Object.assign(values, { email_status: "unknown", email_validated_at: null });
  }
  return values;
}

/** The addresses that the new values take from a record with a bar. */
function leavingOf(values: PlayerValues, current: Player): Leaving[] {
  const leaves = (name: "email" | "phone") =>
    values[name] !== undefined && !isSameAddress(values[name], current[name]);
  const leaving = { id: current.id, email: leaves("email"), phone: leaves("phone") };
  return isBarring(current) && (leaving.email || leaving.phone) ? [leaving] : [];
}

/** Country, state and language of `input` in their stored form. Throws `invalid`: quiet hours go by the place. */
function storedPlace(
  { property }: Context,
  input: PlayerChange["input"],
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

type Stored = Writing & { values: PlayerValues };

/** Checks persons by the property's lists, which may change the status of their values. */
async function checkedPersons(context: Context, changes: readonly Stored[]): Promise<UntilRefused<void>> {
  const persons = changes.map(({ input, values, current }) => ({
    playerId: input.player_id === current?.player_id ? undefined : input.player_id,
    values: { ...current, ...values },
    current,
    isPerson: PERSON.some((name) => values[name] !== undefined),
  }));
  const asked = persons.filter(({ playerId, isPerson }) => playerId !== undefined || isPerson);
  const matches = await matchPersons(context, asked);
  const found = new Map(asked.map((person, index) => [person, matches[index]!]));
  const excluded = new Set<unknown>();
  return untilRefused(changes, ({ values, ...change }, index) => {
    const { current } = change;
    const person = persons[index]!;
    const match = found.get(person);
    const addresses = addressesOf(person.values);
    if (match) {
      // The records before it in the array bar their addresses, as the property's lists do.
      const isExcluded = match.excluded || addresses.some((address) => excluded.has(address));
      checkPerson(values, current, { ...person, ...match, excluded: isExcluded });
    }
    if ((values.status ?? current?.status) !== "self_excluded" || changesNothing(change, values)) return;
    const left = current?.status === "self_excluded" ? addressesOf(current) : [];
    for (const address of [...addresses, ...left]) excluded.add(address);
  });
}

const addressesOf = ({ email, phone }: PlayerValues) =>
  [email, phone].flatMap((address) => (address ? comparedForm(String(address)) : []));

/**
 * The player_id of a merged record means the record that it was merged into, and is refused, as is an erased person. A
 * self-excluded person is written as such, also where the caller asked for another status.
 */
function checkPerson(
  values: PlayerValues,
  current: Player | null,
  found: PersonMatches & { playerId: string | undefined; isPerson: boolean },
): void {
  if (found.barred !== null && current?.status !== "self_excluded") values.status = found.barred;
  if (found.merged_into !== null && found.merged_into !== current?.id) {
    throw new Fault("conflict", {
      message: `The player_id ${JSON.stringify(found.playerId)} was merged: it means the player ${found.merged_into}.`,
    });
  }
  if (!found.isPerson) return;
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

function checkFields({ now }: Context, input: PlayerChange["input"]): void {
  const { birth_date: birth } = input;
  if (birth && !isBirthDate(birth, now())) {
    throw invalid("birth_date", "must lie between 1900-01-01 and today");
  }
}
