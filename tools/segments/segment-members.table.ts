import { z } from "zod";
import type { Query } from "#db/query/parse.ts";
import type { ReadableTable } from "#db/query/readable-table.ts";
import { sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { createOnly, readable, timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { type Tenants, table } from "#runtime/operation/table.ts";
import { untilRefused } from "#runtime/together.ts";
import refreshSegment from "./refresh-segment.job.ts";
import { audienceOf } from "./rules/references.ts";

/** A list that is filled one by one is counted once in this many seconds. */
const SOON = 5;

export default table({
  name: "segment_members",
  noun: "segment_member",
  description:
    "A segment member puts one player on a static segment's list. A dynamic segment's members follow from its rules: with segment_id.eq they are listed as these match now.",
  verbs: ["list", "get", "create", "delete"],
  asks: ["create"],
  movesPlayers: true,
  events: { create: "player.segment_entered", delete: "player.segment_exited" },
  columns: {
    segment_id: createOnly(z.uuid().describe("A static segment, from list_segments")),
    player_id: createOnly(z.uuid().describe("The player's id, from list_players")),
    source: readable(z.enum(["manual", "import", "rule", "journey"])),
    added_at: readable(timestamp().nullable().describe("null for a member that follows from the rules now")),
  },
  computed,
  async beforeWrite(_, { current }) {
    if (current?.source === "rule") throw followsRules();
    return {};
  },
  async beforeWrites(context, changes) {
    const added = changes.flatMap(({ verb, input }) => (verb === "create" ? [input] : []));
    const known = await knownOf(context, added);
    return untilRefused(added, (input) => checked(input, known));
  },
  async afterWrite({ enqueue }, { row: { segment_id: segmentId } }) {
    enqueue(refreshSegment, { segmentId }, { dedupe: segmentId, runAt: SOON });
  },
});

/** A dynamic segment's members, where they are not kept: the players whom its rules match now. */
async function computed(db: Tenants, { id: property }: Property, { where }: Query, stored: ReadableTable) {
  const ids = where.flatMap((one) =>
    !("logic" in one) && one.column === "segment_id" && one.operator === "eq" && !one.not ? [one.value] : [],
  );
  if (ids.length !== 1) return undefined;
  const id = String(ids[0]);
  return db.asProperty(
    property,
    async (transaction) => {
      const [segment] = await transaction<{ type: string; kept: boolean }[]>`
        select type, members_since is not null as kept from segments
        where property_id = ${property} and id = ${id} and deleted_at is null`;
      if (segment?.type !== "dynamic" || segment.kept) return undefined;
      const audience = await audienceOf(transaction, property, id);
      const members = sql`(select p.property_id, p.id, ${id}::uuid as segment_id, p.id as player_id,
          'rule'::text as source, null::timestamptz as added_at, p.created_at, p.updated_at
        from players p where p.property_id = ${property}::uuid and ${audience}) segment_members`;
      return { ...stored, from: members };
    },
    { readOnly: true },
  );
}

interface Added {
  segment_id: string;
  player_id: string;
}

interface Known {
  /** The types of the segments by their ids. */
  segments: ReadonlyMap<string, string>;
  players: ReadonlySet<string>;
  /** Members as they are, and those of the request so far. */
  members: Set<string>;
}

const nameOf = ({ segment_id, player_id }: Added) => `${segment_id} ${player_id}`;

async function knownOf({ sql, property }: Tenant, added: Added[]): Promise<Known> {
  const segmentIds = [...new Set(added.map(({ segment_id }) => segment_id))];
  const playerIds = added.map(({ player_id }) => player_id);
  const [segments, players, members] = await Promise.all([
    sql<{ id: string; type: string }[]>`
      select id, type from segments
      where property_id = ${property.id} and id = any(${segmentIds}::uuid[]) and deleted_at is null`,
    sql<{ id: string }[]>`
      select id from players
      where property_id = ${property.id} and id = any(${playerIds}::uuid[]) and deleted_at is null`,
    sql<Added[]>`
      select segment_id, player_id from segment_members
      where property_id = ${property.id} and segment_id = any(${segmentIds}::uuid[])
        and player_id = any(${playerIds}::uuid[])`,
  ]);
  return {
    segments: new Map(segments.map(({ id, type }) => [id, type])),
    players: new Set(players.map(({ id }) => id)),
    members: new Set(members.map(nameOf)),
  };
}

/** Says which field is wrong: the database's own refusals name none. */
function checked<A extends Added>(input: A, { segments, players, members }: Known): A {
  const type = segments.get(input.segment_id);
  if (type === undefined)
    throw new Fault("not_found", { message: `segment_id: no such segment. See list_segments.` });
  if (type !== "static") throw followsRules();
  if (members.has(nameOf(input))) {
    throw new Fault("conflict", { message: "player_id: this player is in the segment already." });
  }
  if (!players.has(input.player_id)) {
    throw new Fault("not_found", { message: `player_id: no player ${input.player_id} in this property.` });
  }
  members.add(nameOf(input));
  return input;
}

/** The refusal of a change of a dynamic segment's members. */
export function followsRules(): Fault {
  return new Fault("conflict", {
    message: "The rules of a dynamic segment decide its members. Change the rules, or use a static segment.",
  });
}
