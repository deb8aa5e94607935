import { z } from "zod";
import { HASH_FORM } from "#db/query/forms.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

export default table({
  name: "self_exclusions",
  noun: "self_exclusion",
  description:
    "A self-exclusion bars a person from every channel, game and offer while it lasts. It is never changed or removed.",
  verbs: ["list", "get"],
  columns: {
    player_id: readable(z.uuid().nullable(), { concise: true }),
    program: readable(z.string().nullable(), { concise: true, vocabulary: true }),
    jurisdiction: readable(z.string().nullable(), { concise: true, vocabulary: true }),
    starts_at: readable(timestamp(), { concise: true }),
    ends_at: readable(timestamp().nullable(), { concise: true }),
    source: readable(z.string().nullable(), { concise: true, vocabulary: true }),
    external_ref: readable(z.string().nullable()),
    identity_hash: readable(z.string().nullable(), {
      form: HASH_FORM,
      sql: "encode(identity_hash, 'hex')",
    }),
    address_hashes: readable(z.array(z.string()), {
      form: HASH_FORM,
      sql: "array(select encode(hash, 'hex') from unnest(address_hashes) as hash)",
    }),
  },
});
