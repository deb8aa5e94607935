import { z } from "zod";
import { sql as fragment, identifier, join } from "#db/sql.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";

const SHARED = ["email", "phone"] as const;
const MOST_GROUPS = 100;
const SHOWN = 10;

const Record = z.object({
  id: z.uuid(),
  player_id: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  birth_date: z.string().nullable(),
  email: z.string().nullable(),
  phone: z.string().nullable(),
  tier: z.string().nullable(),
  adt: z.number().nullable(),
  status: z.string(),
  last_visit_at: timestamp().nullable(),
  created_at: timestamp(),
});

const DuplicateGroup = z.object({
  shared: z.array(z.enum(SHARED)).describe("What these records have in common"),
  count: z.int().describe("Records in the group"),
  players: z.array(Record).describe(`The first ${SHOWN} records, the latest visit first`),
});
type Found = z.output<typeof DuplicateGroup>;

export default tool({
  name: "find_duplicate_players",
  title: "Find duplicate players",
  description:
    "Groups the players who share an email or a phone, the largest group first. Compare name and birth date before merge_players: a couple may share an address. Changes nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  heavy: true,
  deadline: 30_000,
  input: {
    propertyId: z.uuid(),
    by: z
      .array(z.enum(SHARED))
      .min(1)
      .default([...SHARED])
      .describe("What to compare"),
    limit: z.int().min(1).max(MOST_GROUPS).default(20).describe("Groups to return"),
    offset: z.int().min(0).max(1_000_000).default(0).describe("Groups to pass over"),
  },
  output: z.object({
    groups: z.array(DuplicateGroup),
    total: z.int().describe("Groups in all"),
    players: z.int().describe("Players in them: one who is in two groups counts twice"),
    has_more: z.boolean(),
  }),
  faults: ["invalid"],
  async handler({ sql, property, call }, { by, limit, offset }) {
    refuseMasked(call, "the groups tell which addresses of an import of made-up ones have a player");
    const own = fragment`p.property_id = ${property.id}::uuid`;
    const doubled = [...new Set(by)].map((name) => {
      // By the hash: a phone number may be written in two forms.
      const column = fragment`p.${identifier(`${name}_hash`)}`;
      return fragment`
        select ${name}::text as name, array_agg(p.id order by p.id) as ids from players p
        where ${own} and p.deleted_at is null and ${column} is not null
        group by ${column} having count(*) > 1`;
    });
    const [{ groups, total, players }] = await sql<[{ groups: Found[]; total: number; players: number }]>`
      with doubled as materialized (${join(doubled, " union all ")}), alike as materialized (
        select ids, cardinality(ids) as count, array_agg(name order by name) as shared from doubled group by ids
      ), shown as materialized (
        select * from alike order by count desc, ids limit ${limit}::int offset ${offset}::int
      ), told as (
        select s.count, s.ids, json_build_object('shared', s.shared, 'count', s.count, 'players', (
            select json_agg(row_to_json(v)) from (
              select p.id, p.player_id, p.first_name, p.last_name, p.birth_date, p.email, p.phone, p.tier, p.adt,
                p.status, p.last_visit_at, p.created_at
              from players p where ${own} and p.id = any(s.ids)
              order by p.last_visit_at desc nulls last, p.id limit ${SHOWN}::int) v)) as found
        from shown s
      )
      select coalesce((select json_agg(found order by count desc, ids) from told), '[]') as groups,
        (select count(*)::int from alike) as total, (select coalesce(sum(count), 0)::int from alike) as players`;
    return { groups, total, players, has_more: offset + groups.length < total };
  },
});
