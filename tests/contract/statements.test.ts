import { loadModule, parsePlPgSQLSync, parseSync } from "libpg-query";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { judge, report } from "../support/statements/judge.ts";
import { breachesOf, RULES } from "../support/statements/rules.ts";
import { type SchemaFacts, schemaFacts } from "../support/statements/schema-facts.ts";
import { templatesIn } from "../support/statements/written-by-tests.ts";

let database: TestDatabase;
let admin: postgres.Sql;
let facts: SchemaFacts;

beforeAll(async () => {
  await loadModule();
  database = await testDatabase();
  admin = postgres(database.url, { max: 1, onnotice: () => {} });
  facts = await schemaFacts(admin);
});

afterAll(async () => {
  await admin.end();
  await database.drop();
});

const broken = (statement: string) =>
  breachesOf(parseSync(statement), facts).map(({ rule, by }) => `${rule}: ${by}`);

/** Each rule by statements that break it, and by what is well beside them. */
const CASES: Record<keyof typeof RULES, { refused: [string, string][]; taken: string[] }> = {
  A: {
    refused: [
      [
        "insert into suppressions (property_id, address_hash) values ($1, $2) on conflict (property_id, address_hash) do update set updated_at = now()",
        "A: now()",
      ],
      [
        "insert into users (email) values ($1) on conflict (email) do update set name = 'a' where users.created_at < clock_timestamp()",
        "A: clock_timestamp()",
      ],
      [
        "with kept as (insert into uploads (property_id) values ($1) on conflict (id) do update set updated_at = current_timestamp returning id) select id from kept",
        "A: the current time",
      ],
    ],
    taken: [
      "insert into suppressions (property_id, updated_at) values ($1, now()) on conflict (property_id) do update set updated_at = excluded.updated_at, source = coalesce(excluded.source, suppressions.source)",
      "insert into queue (name) values ($1) on conflict (name) do update set run_at = now()",
    ],
  },
  B: {
    refused: [
      ["insert into outbox (property_id, type) select $1, t from unnest($2::text[]) t", "B: outbox"],
      [
        "with a as (insert into outbox (property_id) select $1 from unnest($2::text[]) t) select 1",
        "B: outbox",
      ],
    ],
    taken: [
      "insert into outbox (property_id, type) select $1, t from unnest($2::text[]) t returning 1",
      "insert into outbox (property_id, type) select $1, t from unnest($2::text[]) t on conflict do nothing",
      "insert into outbox (property_id, type) values ($1, $2), ($1, $3)",
      "insert into queue (name) select t from unnest($1::text[]) t",
    ],
  },
  C: {
    refused: [
      [
        "insert into templates (property_id, name) values ($1, (select name from campaigns where property_id = $1 and id = $2))",
        "C: templates",
      ],
      [
        "insert into templates (property_id, name) values ($1, case when not exists (select from campaigns where property_id = $1) then $2 end)",
        "C: templates",
      ],
      [
        "insert into templates (property_id, name) select $1, t from unnest($2::text[]) t on conflict (property_id, name) do update set name = excluded.name where exists (select from campaigns where property_id = $3)",
        "C: templates",
      ],
      [
        "insert into templates (property_id, name) values ($1, $2) on conflict (property_id, name) do update set name = excluded.name where exists (select from campaigns where property_id = $1)",
        "C: templates",
      ],
    ],
    taken: [
      "insert into templates (property_id, name) select $1, (select name from campaigns where property_id = $1 and id = $2) returning id",
    ],
  },
  D: {
    refused: [
      [
        "update campaigns set sent_at = case when $1 then now() else sent_at end where property_id = $2",
        "D: now()",
      ],
      ["update campaigns set sent_at = coalesce(sent_at, now()) where property_id = $1", "D: now()"],
      ["update users set sessions_from = clock_timestamp() where id = $1", "D: clock_timestamp()"],
      ["update players set id = uuid_v7() where property_id = $1", "D: uuid_v7()"],
      [
        "update webhook_deliveries set updated_at = created_at + make_interval(secs => 5) where property_id = $1",
        "D: a time plus or minus an interval",
      ],
      [
        "update webhook_deliveries set updated_at = $2 where property_id = $1 and created_at < updated_at - interval '1 day'",
        "D: a time plus or minus an interval",
      ],
      [
        "update webhook_deliveries set updated_at = created_at + (now() - updated_at) where property_id = $1",
        "D: a time plus or minus an interval",
      ],
      [
        "update campaigns set sent_at = coalesce(sent_at, c.moment - make_interval(secs => $2)) from (select now() as moment) c where property_id = $1",
        "D: a time plus or minus an interval",
      ],
      [
        "update campaigns set sent_at = (sent_at at time zone $2 at time zone $3) + interval '1 day' where property_id = $1",
        "D: a time plus or minus an interval",
      ],
      ["update players set attributes = to_jsonb(first_name) where property_id = $1", "D: to_jsonb()"],
      [
        "delete from import_errors t where t.property_id = $1 and coalesce(concat_ws(' ', t.message, t.value) ~* $2, false)",
        "D: concat_ws()",
      ],
    ],
    taken: [
      "update campaigns set sent_at = now(), updated_at = now() - interval '1 day' where property_id = $1",
      "update campaigns set sent_at = coalesce(sent_at, clock.moment) from (select now() as moment) clock where property_id = $1",
      "with due as (select id, created_at + interval '1 day' as at from webhook_deliveries where property_id = $1) update webhook_deliveries w set updated_at = due.at from due where w.property_id = $1 and w.id = due.id",
      "update queue set run_at = coalesce(run_at, clock_timestamp()) where id = $1",
      "update campaigns set sent_at = (sent_at at time zone $2 + interval '1 day') at time zone $2 where property_id = $1",
    ],
  },
  I: {
    refused: [
      [
        "select id = $2 and created_at = now() as is_new from players where property_id = $1 and id = $2",
        "I: now()",
      ],
    ],
    taken: [
      "select id, created_at = $3 as is_new from players where property_id = $1 and id = $2 and created_at <= now()",
      "select id from queue where run_at = now()",
      "update campaigns set sent_at = now() where property_id = $1",
    ],
  },
  J: {
    refused: [
      [
        "insert into suppressions (property_id, source) select $1, coalesce(t, $4) from unnest($2::text[]) t on conflict (property_id) do update set source = case when excluded.source = $3 then $5 end",
        "J: suppressions",
      ],
      [
        "insert into users (email) select coalesce(t, $3) from unnest($1::text[]) t on conflict (email) do update set name = excluded.name where users.name <> $2",
        "J: users",
      ],
    ],
    taken: [
      "insert into suppressions (property_id, source) values ($1, $3) on conflict (property_id) do update set source = $2",
      "insert into suppressions (property_id, source) select $1, t from unnest($2::text[]) t on conflict (property_id) do update set source = $3",
      "insert into queue (name) select coalesce(t, $3) from unnest($1::text[]) t on conflict (name) do update set name = $2",
    ],
  },
  K: {
    refused: [
      [
        "update campaigns set status = 'sent' where property_id = $1 and case status when $2 then true else false end",
        "K: case",
      ],
      [
        "with n as (select id, case status when 'draft' then 'sent' end as status from campaigns where property_id = $1) update campaigns c set status = n.status from n where c.property_id = $1 and c.id = n.id",
        "K: case",
      ],
      [
        "delete from campaigns where property_id = $1 returning case status when 'draft' then 1 end",
        "K: case",
      ],
      [
        "insert into suppressions (property_id, source) values ($1, case $2 when 'a' then 'b' end)",
        "K: case",
      ],
    ],
    taken: [
      "update campaigns set status = case when status = $2 then 'sent' end where property_id = $1",
      "select case status when 'draft' then 1 end from campaigns where property_id = $1",
      "insert into suppressions (property_id, source) select $1, case t when 'a' then 'b' end from unnest($2::text[]) t returning 1",
      "update users set name = case name when 'a' then 'b' end",
      "with n as materialized (select id, case status when 'draft' then 'sent' end as status from campaigns where property_id = $1), changed as (update campaigns c set status = n.status from n where c.property_id = $1 and c.id = n.id) select id from n",
    ],
  },
  E: {
    refused: [
      [
        "update campaigns set status = $2 where property_id = $1 returning to_json(updated_at)",
        "E: to_json()",
      ],
      [
        "delete from campaigns where property_id = $1 returning extract(epoch from now() - created_at)",
        "E: extract() / E: now()",
      ],
      ["insert into campaigns (property_id) values ($1) returning created_at::text", "E: a cast to text"],
    ],
    taken: [
      "with changed as (update campaigns set status = $2 where property_id = $1 returning id, updated_at) select id, to_json(updated_at) from changed",
      "update campaigns set status = $2 where property_id = $1 returning id::text, lower(status)",
    ],
  },
  F: {
    refused: [
      [
        "update campaign_sends s set status = $2 where s.property_id = $1 and not exists (select from queue q where q.id = s.claimed_by)",
        "F: queue",
      ],
      [
        "with gone as (select id from queue where state = 'dead') delete from campaign_claims c using gone where c.property_id = $1 and c.id = gone.id",
        "F: queue",
      ],
      [
        "select id from staged where exists (select from players p where p.property_id = $1 and p.email = staged.email)",
        "F: a temporary table",
      ],
      ["select id from players where property_id = $1 and is_staff(email)", "F: is_staff()"],
    ],
    taken: [
      "update campaign_sends set status = $2 where property_id = $1 and claimed_by = any($3::uuid[])",
      "with changed as (update campaigns set status = $2 where property_id = $1 returning id), job as (insert into queue (name) values ('send') returning id) select id from changed",
      "update players p set first_name = s.first_name from staged s where p.property_id = $1 and p.id = s.id",
      "select id from queue where state = $1",
      "select is_staff($1)",
    ],
  },
  G: {
    refused: [
      ["select id from players where id = $1", "G: players"],
      [
        "select s.id from segments s where s.property_id = $1 and exists (select from segment_members m where m.property_id = s.property_id and m.segment_id = s.id)",
        "G: segment_members",
      ],
      [
        "with last as (select property_id, player_id from consent_records where property_id = $1) update players p set updated_at = now() from last l where p.property_id = l.property_id and p.id = l.player_id",
        "G: players",
      ],
      ["delete from players where property_id = any($1::uuid[])", "G: players"],
      ["select id from players where property_id = $1 or id = $2", "G: players"],
    ],
    taken: [
      "select p.id from players p join segment_members m on m.property_id = $1 and m.player_id = p.id where p.property_id = $1",
      "select p.id from players p join segment_members m on m.property_id = p.property_id and m.player_id = p.id where p.property_id = $1",
      "select p.id from players p left join segment_members m using (property_id) where p.property_id = $1",
      "select id from players where (property_id, id) = ($1, $2)",
      "with players as (select id from templates where property_id = $1) select id from players",
      "select id from properties",
    ],
  },
  H: {
    refused: [
      [
        "with v as materialized (select * from jsonb_to_record($2::jsonb) as v(tier text)) update players p set tier = v.tier from v where p.property_id = $1",
        "H: jsonb_to_record()",
      ],
    ],
    taken: [
      "with v as materialized (select * from json_to_recordset($2::json) as v(tier text)) update players p set tier = v.tier from v where p.property_id = $1",
      "select v.tier from jsonb_to_record($1::jsonb) as v(tier text)",
    ],
  },
};

describe.each(Object.entries(CASES))("rule %s", (_rule, { refused, taken }) => {
  test.each(refused)("refuses %s", (statement, because) => {
    expect(broken(statement).join(" / ")).toBe(because);
  });

  test.each(taken)("takes %s", (statement) => {
    expect(broken(statement)).toEqual([]);
  });
});

test("a refused statement is reported with the rule, its fault, and the right form", async () => {
  const judged = await judge(
    ["update users set name = $1, sessions_from = clock_timestamp()", "select $1"],
    facts,
  );
  expect(report(judged)).toBe(
    `1 of 2 statements cannot run on a distributed PostgreSQL:

  D (clock_timestamp()): ${RULES.D}
update users set name = $1, sessions_from = clock_timestamp()`,
  );
});

test("a statement that only a test sends is not judged", async () => {
  // The template that the judge finds in this file.
  const seed = (value: string) => `update players set notes_of_a_test = ${value}, id = uuid_v7()`;
  expect((await judge([seed("$7")], facts)).broken).toEqual([]);
  expect((await judge([`${seed("$7")} where id = $8`], facts)).broken).toHaveLength(1);
});

test("a template's values may hold braces and templates", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source file
  const source = "f(`select ${a ? sql`b = ${{ c: 1 }.c}` : d} from t`, `no sql`)";
  expect(templatesIn(source)).toEqual(["select $1 from t"]);
});

describe("the schema can be distributed too", () => {
  test("no policy has a subquery", async () => {
    const policies = await admin.unsafe<{ name: string; conditions: string }[]>(
      "select tablename || '.' || policyname as name, concat_ws(' ', qual, with_check) as conditions from pg_policies",
    );
    expect(policies.length).toBeGreaterThan(facts.tenant.size);
    expect(policies.filter(({ conditions }) => /select/i.test(conditions))).toEqual([]);
  });

  test("no table that stays on one node refers to one that does not", async () => {
    const keys = await admin.unsafe<{ table: string; target: string }[]>(
      `select conrelid::regclass::text as "table", confrelid::regclass::text as target
      from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace`,
    );
    expect(keys.length).toBeGreaterThan(facts.tenant.size);
    expect(keys.filter(({ table, target }) => facts.local.has(table) && !facts.local.has(target))).toEqual(
      [],
    );
  });

  test("functions that read or write tenants' tables are in plpgsql", async () => {
    const functions = await admin.unsafe<{ name: string; source: string }[]>(
      `select proname as name, prosrc as source from pg_proc p join pg_language l on l.oid = p.prolang
      where p.pronamespace = 'public'::regnamespace and l.lanname = 'sql'`,
    );
    const tenants = new RegExp(`\\b(from|join|into|update)\\s+(${[...facts.tenant].join("|")})\\b`);
    expect(functions.filter(({ source }) => tenants.test(source))).toEqual([]);
  });

  test("the statements of functions keep the rules", async () => {
    const functions = await admin.unsafe<{ language: string; source: string; definition: string }[]>(
      `select lanname as language, prosrc as source, pg_get_functiondef(p.oid) as definition
      from pg_proc p join pg_language l on l.oid = p.prolang
      where pronamespace = 'public'::regnamespace and lanname in ('sql', 'plpgsql')`,
    );
    const statements = functions.flatMap(({ language, source, definition }) =>
      language === "sql" ? [source] : queriesOf(parsePlPgSQLSync(definition)),
    );
    const { read, broken } = await judge(statements, facts);
    expect(read).toBeGreaterThan(functions.length);
    expect(broken).toEqual([]);
  });
});

/** The queries of a parsed function, without the variable that takes what one answers. */
function queriesOf(parsed: unknown): string[] {
  const queries: string[] = [];
  JSON.stringify(parsed, (name, value) => {
    if (name === "query" && typeof value === "string") queries.push(value.replace(/^\s*[\w.]+\s*:=/, ""));
    return value;
  });
  return queries;
}
