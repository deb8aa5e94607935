import { sql as fragment } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import { rowsInForce } from "#tools/consent/in-force.ts";
import { announceAnswer, type ConsentAct, record } from "#tools/consent/ledger.ts";
import { revoke } from "#tools/consent/revoke.ts";

/** The word in force of one record on one channel. */
interface Word {
  player_id: string;
  channel: Channel;
  consent_given: boolean;
  consent_level: NonNullable<ConsentAct["level"]>;
  consent_source: string | null;
  consent_text: string | null;
  consent_version: string | null;
  collection_method: string | null;
  /** The word is about the address that the kept player has. */
  is_same_address: boolean;
  occurred_at: string;
  expires_at: string | null;
}

/**
 * Writes the duplicate's words into the kept player's ledger, where they are stricter, or where the kept player has none.
 * A refusal always wins. A consent passes over only with its address. The duplicate's own rows stay as they are: the
 * ledger is sealed.
 */
export async function mergeConsents(
  context: Context,
  keptId: string,
  duplicateId: string,
): Promise<{ refused: Channel[]; granted: Channel[] }> {
  const words = await wordsInForce(context, keptId, duplicateId);
  const own = new Map(words.filter((word) => word.player_id === keptId).map((word) => [word.channel, word]));
  const others = words.filter((word) => word.player_id === duplicateId);
  const refused = others.filter(
    (word) => !word.consent_given && own.get(word.channel)?.consent_given !== false,
  );
  const granted = others.filter(
    (word) => word.consent_given && !own.has(word.channel) && word.is_same_address,
  );
  const channels = refused.map(({ channel }) => channel);
  if (channels.length > 0) {
    await revoke(context, {
      playerId: keptId,
      channels,
      method: "api",
      source: `merged with the record ${duplicateId}, which had refused`,
    });
  }
  for (const word of granted) await grant(context, keptId, word);
  return { refused: channels, granted: granted.map(({ channel }) => channel) };
}

/** The channels that a player has refused. */
export async function refusedBy({ sql, property }: Context, playerId: string): Promise<string[]> {
  const channels = await sql<{ channel: string }[]>`
    select c.key as channel from players p, jsonb_each_text(p.consents) c
    where p.property_id = ${property.id} and p.id = ${playerId} and c.value = 'false'`;
  return channels.map(({ channel }) => channel);
}

async function grant(context: Context, keptId: string, word: Word): Promise<void> {
  const [row] = await record(context, {
    playerIds: [keptId],
    channels: [word.channel],
    action: "granted",
    level: word.consent_level,
    source: word.consent_source ?? undefined,
    text: word.consent_text ?? undefined,
    version: word.consent_version ?? undefined,
    method: word.collection_method ?? undefined,
    occurredAt: word.occurred_at,
    expiresAt: word.expires_at ?? undefined,
  });
  announceAnswer(context, row!);
}

function wordsInForce({ sql, property }: Context, keptId: string, duplicateId: string): Promise<Word[]> {
  const players = fragment`${[keptId, duplicateId]}::uuid[]`;
  return sql<Word[]>`
    select c.player_id, c.channel, c.consent_given, c.consent_level,
      c.consent_source, c.consent_text, c.consent_version, c.collection_method,
      c.address_hash is not distinct from
        case c.channel when 'email' then p.email_hash when 'push' then null else p.phone_hash end as is_same_address,
      to_json(c.occurred_at) #>> '{}' as occurred_at, to_json(c.expires_at) #>> '{}' as expires_at
    from (${rowsInForce(property, { players })}) c
      join players p on p.property_id = ${property.id} and p.id = ${keptId}
    order by c.player_id, c.channel`.then((rows) => [...rows]);
}
