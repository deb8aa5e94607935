import { literals } from "#db/sql.ts";
import { OPEN_JOBS } from "#tools/jobs/async-job.ts";
import {
  addressPattern,
  containing,
  dialedPattern,
  isNumber,
  isTelling,
  mentions,
  namedAfter,
  wordPattern,
} from "./matching-person.ts";
import type { About, Trace } from "./trace.ts";

/** Files and texts that may contain the person's data. */
export const TEXT_TRACES: readonly Trace[] = [
  {
    // A call that names the person. The audit log keeps who approved it.
    table: "proposals",
    // One sentence at a time: a distributed delete makes no text of an array.
    rows: (about) => about.sql`(${namedAfter(about, words("title", "input", "asked", "reason", "result"))}
      or exists (select from unnest(t.sentences || t.reasons) as s(line) where ${namedAfter(about, "s.line")}))`,
    searched: true,
    exported: "proposals",
    erasure: "delete",
  },
  {
    table: "import_errors",
    rows: (about) => about.sql`(${mentions(about, words("message", "value", "original_row"))}
      or ${cells(about)})`,
    searched: true,
    exported: "import_rows",
    erasure: "delete",
  },
  {
    // Files that wait for an import that never came. A file under import is deleted when the import ends, and the
    // person's row in it is refused.
    table: "uploads",
    rows: (about) => about.sql`(t.id in (${theirUploads(about)}) or ${namedAfter(about, "t.filename")})`,
    searched: true,
    exported: "uploads",
    erasure: "delete",
  },
  {
    table: "upload_chunks",
    rows: (about) => about.sql`t.upload_id in (${theirUploads(about)})`,
    searched: true,
    exported: null,
    erasure: "delete",
  },
  {
    table: "idempotency_records",
    rows: (about) => about.sql`(${mentions(about, "t.body")} or ${namedAfter(about, "t.key")})`,
    searched: true,
    exported: null,
    erasure: "delete",
  },
];

/** The columns as one text. Not by `concat_ws`: it is not immutable, and a distributed delete takes no such function. */
function words(...columns: string[]): string {
  return `(${columns.map((name) => `coalesce(t.${name}::text, '')`).join(" || ' ' || ")})`;
}

/** Cells of a refused row with the person's data in another form: a dialed phone, or the player_id alone. */
function cells({ sql, property, person }: About) {
  const phones = person.addresses.filter((one) => one.startsWith("+")).map(dialedPattern);
  const dialed = phones.length === 0 ? null : phones.join("|");
  const id = person.externalId;
  // Digits alone are a player_id if the import read their column as player_id.
  const isId = sql`(${id !== null && !isNumber(id)}::boolean or 'playerid' = regexp_replace(
    lower(coalesce(j.params -> 'mapping' ->> c.key, c.key)), '[^a-z]', '', 'g'))`;
  const likeId = id === null ? null : containing(JSON.stringify(id).slice(1, -1));
  return sql`(coalesce(t.original_row::text ~ ${dialed}, false)
    or t.original_row::text like ${likeId} and exists (
      select from json_each_text(t.original_row) c
        left join import_jobs j on j.property_id = ${property.id} and j.id = t.job_id
      where btrim(c.value) = ${id} and ${isId}))`;
}

/** Files with the person's data that no open import reads. A text may lie across two chunks. */
function theirUploads(about: About) {
  const { sql, property, person } = about;
  const telling = [
    ...person.addresses.map(addressPattern),
    ...person.addresses.filter((one) => one.startsWith("+")).map(dialedPattern),
    ...(isTelling(person.externalId) ? [wordPattern(person.externalId)] : []),
  ];
  return sql`
    select upload_id from (
      select c.upload_id, encode(coalesce(substr(lag(c.bytes) over w, greatest(1, length(lag(c.bytes) over w) - 512)), '')
        || c.bytes, 'escape') as text
      from upload_chunks c
      where c.property_id = ${property.id} and not exists (
        select from import_jobs j
        where j.property_id = ${property.id} and j.upload_id = c.upload_id and j.status in (${literals(OPEN_JOBS)}))
      window w as (partition by c.upload_id order by c.seq)) f
    where f.text ~* ${telling.length === 0 ? null : telling.join("|")}`;
}
