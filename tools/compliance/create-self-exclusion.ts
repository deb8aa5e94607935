import { z } from "zod";
import { counted } from "#runtime/counted.ts";
import { invalid, one } from "#runtime/faults.ts";
import { pastTime, timestamp, viewOf } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { insert } from "#runtime/operation/rows.ts";
import { identityHash } from "#tools/people/identity.ts";
import { lockImports, lockPlayerWrites } from "#tools/people/locks.ts";
import { playerWords } from "#tools/people/words.ts";
import { addressOf } from "./listed-address.ts";
import { applySelfExclusion } from "./self-exclusion.ts";
import selfExclusions from "./self-exclusions.table.ts";

const text = (most: number) => z.string().trim().min(1).max(most).optional();

const input = {
  player_id: z.uuid().optional().describe("The id of a player, from list_players"),
  email: text(320).describe("Bars the address, also where no player has it"),
  phone: text(60).describe("As dialed in the property's country, or E.164"),
  first_name: text(200).describe("With last_name and birth_date: the person on a state's or program's list"),
  last_name: text(200).describe("Needs first_name and birth_date"),
  birth_date: z.iso.date().optional().describe("Needs first_name and last_name"),
  program: text(200).describe("Such as a state's voluntary exclusion program"),
  jurisdiction: text(100).describe("The program's state, such as NV"),
  starts_at: pastTime().optional().describe("When it began. Default: now; never later than now"),
  ends_at: timestamp().nullish().describe("Default: it does not end"),
  source: text(200).describe("The origin of the record"),
  external_ref: text(200).describe("The program's own number of the exclusion"),
};

type Input = z.output<z.ZodObject<typeof input>>;

export default tool({
  name: "create_self_exclusion",
  title: "Record a self-exclusion",
  description:
    "Bars a person from every channel, at once. Identify them by player_id, email, phone, or first_name with last_name and birth_date (any combination). Matching players become self_excluded, also players who are added later. It cannot be undone. A player stays self_excluded after ends_at.",
  scope: "write",
  effect: "destroy",
  input,
  output: viewOf(selfExclusions).extend({
    matched_players: z.array(z.uuid()).describe("Players whom this call made self_excluded"),
  }),
  status: 201,
  faults: ["invalid", "not_found"],
  crud: { table: selfExclusions, verb: "create" },
  deadline: 30_000,
  async handler(context, given) {
    await context.sql`set local lock_timeout = '20s'`;
    // Otherwise a player who was checked before this insert and stored after it would stay active.
    await lockImports(context);
    await lockPlayerWrites(context);
    const { ended } = await checkTimes(context, given);
    const person = await whoIs(context, given);
    const { property } = context;
    const identity = person.identity && identityHash(property.pepper, person.identity);
    const row = await insert(context, selfExclusions, {
      player_id: given.player_id,
      identity_hash: identity,
      address_hashes: person.addressHashes.map((hash) => `\\x${hash.toString("hex")}`),
      ...pick(given, ["program", "jurisdiction", "starts_at", "ends_at", "source", "external_ref"]),
    });
    const endsAt = given.ends_at ?? null;
    const matched = ended ? [] : await applySelfExclusion(context, { ...person, endsAt });
    context.ask?.({ sentences: () => exclusionWords(context, given, matched.length) });
    return { ...row, matched_players: matched };
  },
});

async function exclusionWords(
  context: Context,
  { player_id, ends_at }: Input,
  matched: number,
): Promise<string[]> {
  const whom = player_id ? await playerWords(context, player_id) : "the person";
  const records = counted(matched, "record of a player becomes", "records of players become");
  return [
    `This bars ${whom} from every channel. ${records} self_excluded${ends_at ? `, also after ${ends_at}` : ""}. It cannot be taken back.`,
  ];
}

/** Whether the exclusion has already ended, by the database's clock. */
async function checkTimes({ sql }: Context, { starts_at, ends_at }: Input): Promise<{ ended: boolean }> {
  const [times] = await sql<{ future: boolean; reversed: boolean; ended: boolean }[]>`
    select coalesce(${starts_at ?? null}::timestamptz > clock_timestamp(), false) as future,
      coalesce(${ends_at ?? null}::timestamptz <= coalesce(${starts_at ?? null}::timestamptz, now()), false) as reversed,
      coalesce(${ends_at ?? null}::timestamptz <= clock_timestamp(), false) as ended`;
  if (times?.future) throw invalid("starts_at", "must not be in the future: an exclusion starts at once");
  if (times?.reversed) throw invalid("ends_at", "must be after starts_at");
  return { ended: times!.ended };
}

/** The identifying data of the person, from the call and from the named player. */
async function whoIs(context: Context, given: Input) {
  const player = given.player_id === undefined ? null : await loadPlayer(context, given.player_id);
  const { email, phone } = given;
  const hashes = [
    email === undefined ? null : addressOf(context.property, "email", email, "email").hash,
    phone === undefined ? null : addressOf(context.property, "voice", phone, "phone").hash,
    player?.email_hash ?? null,
    player?.phone_hash ?? null,
  ].filter((hash) => hash !== null);
  const names = [given.first_name, given.last_name, given.birth_date];
  const missing = names.filter((name) => name === undefined).length;
  if (missing === 1 || missing === 2)
    throw invalid("birth_date", "give first_name, last_name and birth_date together");
  const identity = identityOf(given) ?? identityOf(player ?? {});
  if (player === null && hashes.length === 0 && identity === null) {
    throw invalid("player_id", "give player_id, email, phone, or first_name with last_name and birth_date");
  }
  const unique = [...new Map(hashes.map((hash) => [hash.toString("hex"), hash])).values()];
  return { identity, addressHashes: unique, playerId: player?.id ?? null };
}

interface KnownPlayer {
  id: string;
  email_hash: Buffer | null;
  phone_hash: Buffer | null;
  first_name: string | null;
  last_name: string | null;
  birth_date: string | null;
}

async function loadPlayer({ sql, property }: Context, id: string): Promise<KnownPlayer> {
  const players = await sql<KnownPlayer[]>`
    select id, email_hash, phone_hash, first_name, last_name, birth_date from players
    where property_id = ${property.id} and id = ${id} and deleted_at is null for update`;
  return one(players, "player", id);
}

function identityOf(
  person: Partial<Record<"first_name" | "last_name" | "birth_date", string | null | undefined>>,
) {
  const { first_name, last_name, birth_date } = person;
  return first_name && last_name && birth_date ? { first_name, last_name, birth_date } : null;
}

function pick<T extends object, K extends keyof T>(object: T, keys: readonly K[]): Partial<Pick<T, K>> {
  return Object.fromEntries(keys.map((key) => [key, object[key]])) as Partial<Pick<T, K>>;
}
